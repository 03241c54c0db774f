"""What a run keeps: the origins of bytes, stores, reads and products, and their order."""
