"""Every instruction, filtered and searched; the pages that explain something."""
