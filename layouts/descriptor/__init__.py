"""Matrix descriptors of wgmma and tcgen05: their bits, the bytes they make the hardware read, and diagnoses."""
