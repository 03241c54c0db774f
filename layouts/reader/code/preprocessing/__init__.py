"""The C preprocessor: tokens, macros, conditions, variants of a text."""
