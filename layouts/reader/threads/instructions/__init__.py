"""PTX, and the functions of CUDA that stand for instructions."""
