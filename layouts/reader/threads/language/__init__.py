"""CUDA C++ for all threads at once: names, types, values, expressions, statements, calls."""
