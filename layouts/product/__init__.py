"""A whole product with one instruction: where its operands lie, and the descriptors and immediates that say so."""
