"""Types: their layout, templates, specializations and traits."""
