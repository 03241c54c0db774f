"""Matrix instructions in PTX, SASS and nvcuda::wmma, also illegal ones."""
