"""The paste box: recognizes any pasted text and shows its page."""
