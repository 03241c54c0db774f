"""Tokens, terms and scopes of a text."""
