"""Live views of layouts in notebooks: their pictures, the selection, and the widget (extra `notebook`)."""
