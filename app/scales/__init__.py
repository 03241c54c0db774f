"""Scale factors: from rows in global memory to tensor memory, and the ids of each K step."""
