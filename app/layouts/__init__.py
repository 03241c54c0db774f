"""Layouts on pages of their own: Triton's and Gluon's, thread-value layouts, CuTe's algebra."""
