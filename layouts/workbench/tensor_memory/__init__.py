"""tcgen05: instruction descriptors, accumulators and barriers in tensor memory."""
