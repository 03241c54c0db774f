"""Syntax trees of C++, CUDA and Python."""
