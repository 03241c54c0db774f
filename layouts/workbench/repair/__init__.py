"""The place that must change, and verified edits of the text."""
