"""Matrix descriptors that code builds."""
