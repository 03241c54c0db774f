"""Pages of layouts: Triton's and Gluon's, thread-value layouts, CuTe's algebra."""
