"""Every instruction, narrowed and searched; the pages that explain something."""
