"""Layouts, tensor maps and instructions as compilers name and print them."""
