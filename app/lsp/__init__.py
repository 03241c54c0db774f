"""A language server: Lanescope in the editor."""
