"""Live views of layouts in notebooks: what they show, what is selected in them, and the widget (extra `notebook`)."""
