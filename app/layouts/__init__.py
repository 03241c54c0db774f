"""Any layout on a page of its own: Triton's and Gluon's, thread-value layouts, CuTe's algebra."""
