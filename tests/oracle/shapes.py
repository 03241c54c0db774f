"""PTX ISA 9.1, 9.7.14.1, transcribed: instruction and sparsity, types, shapes, PTX version. wmma f64 stands in
9.7.14.4.5 alone.

Versions differ from the document in three places, and for a reason each: .f16 wmma is of PTX 6.0 and 6.1, but its text
with .sync.aligned needs 6.3; .kind::f8f6f4 with two of e4m3 and e5m2 is taken from 8.6 by ptxas (document: 8.7).
"""

F8, F6F4 = ("e4m3", "e5m2"), ("e3m2", "e2m3", "e2m1")
_WMMA_16 = ("m16n16k16", "m8n32k16", "m32n8k16")


def _sparse(section: str, version: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...], str]]:
    return [
        (section, ("f16",), ("m16n8k16", "m16n8k32"), version),
        (section, ("bf16",), ("m16n8k16", "m16n8k32"), version),
        (section, ("tf32",), ("m16n8k8", "m16n8k16"), version),
        (section, ("u8", "s8"), ("m16n8k32", "m16n8k64"), version),
        (section, ("u4", "s4"), ("m16n8k64", "m16n8k128"), version),
    ]


SHAPES = [
    ("wmma", ("f16",), _WMMA_16, "6.3"),
    ("wmma", ("bf16",), _WMMA_16, "7.0"),
    ("wmma", ("tf32",), ("m16n16k8",), "7.0"),
    ("wmma", ("f64",), ("m8n8k4",), "7.0"),
    ("wmma", ("u8", "s8"), _WMMA_16, "6.3"),
    ("wmma", ("u4", "s4"), ("m8n8k32",), "6.3"),
    ("wmma", ("b1",), ("m8n8k128",), "6.3"),
    ("mma", ("f64",), ("m8n8k4",), "7.0"),
    ("mma", ("f64",), ("m16n8k4", "m16n8k8", "m16n8k16"), "7.8"),
    ("mma", ("f16",), ("m8n8k4",), "6.4"),
    ("mma", ("f16",), ("m16n8k8",), "6.5"),
    ("mma", ("f16",), ("m16n8k16",), "7.0"),
    ("mma", ("bf16",), ("m16n8k8", "m16n8k16"), "7.0"),
    ("mma", ("tf32",), ("m16n8k4", "m16n8k8"), "7.0"),
    ("mma", ("u8", "s8"), ("m8n8k16",), "6.5"),
    ("mma", ("u8", "s8"), ("m16n8k16", "m16n8k32"), "7.0"),
    ("mma", ("u4", "s4"), ("m8n8k32",), "6.5"),
    ("mma", ("u4", "s4"), ("m16n8k32", "m16n8k64"), "7.0"),
    ("mma", ("b1",), ("m8n8k128", "m16n8k128", "m16n8k256"), "7.0"),
    ("mma", F8, ("m16n8k32",), "8.4"),
    ("mma", F8, ("m16n8k16",), "8.7"),
    ("mma", F6F4, ("m16n8k32",), "8.7"),
    ("mma block_scale", (*F8, *F6F4), ("m16n8k32",), "8.7"),
    ("mma block_scale", ("e2m1",), ("m16n8k64",), "8.7"),
    *_sparse("mma.sp", "7.1"),
    ("mma.sp", F8, ("m16n8k64",), "8.4"),
    *_sparse("mma.sp::ordered_metadata", "8.5"),
    ("mma.sp::ordered_metadata", F8, ("m16n8k64",), "8.5"),
    ("mma.sp::ordered_metadata", F6F4, ("m16n8k64",), "8.7"),
    ("mma.sp block_scale", (*F8, *F6F4), ("m16n8k64",), "8.7"),
    ("mma.sp block_scale", ("e2m1",), ("m16n8k128",), "8.7"),
]
