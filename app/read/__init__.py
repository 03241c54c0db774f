"""Any pasted text: what it is, and the page that shows it."""
