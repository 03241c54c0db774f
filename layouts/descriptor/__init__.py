"""Matrix descriptors of wgmma and tcgen05: their 64 bits, what they make the hardware read, and why that is wrong."""
