"""Names: scopes, lookup, declarations and definitions, names of headers."""
