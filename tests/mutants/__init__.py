"""Deliberate faults: how many of them does the test suite notice? `make mutants` plants them, one at a time, in a copy
of the tree.
"""
