"""Models of what the API takes and gives: they make the OpenAPI document, and the tests hold real answers to them.

They document and never run on a request: bodies and parameters are read by the readers that pages and commands share, so that every
surface refuses the same text in the same words. A feature is a file; `base` has the words and numbers that all share.
"""
