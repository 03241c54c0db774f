"""Statements: branches, loops, exceptions, and what code that is not run may change."""
