"""Scale factors: from rows of global memory to tensor memory, and the id that every step of K takes."""
