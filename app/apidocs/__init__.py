"""The OpenAPI document, and /docs, its page."""
