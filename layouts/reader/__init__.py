"""Any text → what it is."""
