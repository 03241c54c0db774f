"""Code that builds descriptors and tensor maps: parsed, evaluated as C and Python would, never run."""
