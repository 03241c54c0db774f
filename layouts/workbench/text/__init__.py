"""What a text contains: maps, layouts, builders, printed words, instructions; names, addresses and sizes in it."""
