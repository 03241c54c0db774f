"""Keys and glossary of the help page."""

KEYS = (
    ("/", "to the search box, from anywhere"),
    ("arrows", "move from cell to cell inside a matrix"),
    ("a  b  d", "jump to that operand's matrix"),
    ("Enter or space", "pin the cell's lane; in D, trace its dot product too"),
    ("Esc", "free the pinned cell"),
    ("t", "light or dark"),
    ("?", "this page"),
)

GLOSSARY = (
    ("lane", "One of the 32 threads of a warp, 0 to 31."),
    ("thread", "In a warpgroup, 0 to 127: four warps of 32 lanes."),
    ("value", "An index inside one thread's fragment: a0, a1, … in register order, low bits first."),
    ("register", "32 bits (64 for f64) of one thread; narrow elements are packed, the lowest value in the lowest bits."),
    ("fragment", "The part of a matrix that one thread holds."),
    ("multiplicand", "A or B."),
    ("accumulator", "C or D."),
    ("groupID", "lane div 4, written g in patterns."),
    ("threadID_in_group", "lane mod 4, written t in patterns."),
    ("copy", "An element that more than one (lane, value) pair holds, in one lane or in several."),
    ("core matrix", "8 rows of 16 bytes: the unit that wgmma's shared-memory layouts are built of."),
    ("atom", "The swizzle pattern's block: 8 rows of 16, 32, 64 or 128 bytes (K-major), or its transpose (MN-major)."),
    ("LBO", "Leading dimension byte offset of a wgmma descriptor, in bytes; encoded as bytes ÷ 16."),
    ("SBO", "Stride dimension byte offset, in bytes; encoded as bytes ÷ 16."),
    (
        "base offset",
        "For data swizzled by their offset in the tile: how many 128-byte rows past a multiple of the pattern the tile starts; the hardware subtracts it. "
        "Data swizzled by address, TMA's among them, need 0.",
    ),
    ("K-major, MN-major", "Which dimension of an operand is contiguous in memory."),
    ("bank", "One of the 32 columns of shared memory, 4 bytes wide; it serves one word a wavefront."),
    (
        "phase",
        "Lanes of one access whose requests can share a wavefront: 8 for ldmatrix and stmatrix, the whole warp for ld.shared, half or a quarter of it for "
        "st.shared of 64 or 128 bits.",
    ),
    ("wavefront", "One pass of shared memory for a warp's access; more than the ideal number is a bank conflict."),
    ("sparsity selector", "Which lanes of each group of four supply the metadata of an mma.sp."),
    ("simulation", "A run of the NumPy reference: it shows what the maps say and proves nothing about them."),
    ("evidence", "What stands behind a map: an instruction that ran, one that assembles, or the document alone."),
)

# A body to send to each route that takes one; the tests send them.
BODIES: dict[str, dict[str, object]] = {
    "/api/v1/descriptors/encode": {"start_address": 4096, "lbo_bytes": 16, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"},
    "/api/v1/descriptors/reads": {"descriptor": "0x4000004000010100", "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16", "operand": "a", "major": "K"},
    "/api/v1/descriptors/verify": {
        "descriptor": "0x4000004004000101", "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16", "operand": "a", "major": "K",
        "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096}, "slice": {"mn": 0, "k": 0},
    },
    "/api/v1/chain": {"storage": {"kind": "rows", "inner": "K", "pitch_bytes": 144}, "load": "ldmatrix.m8n8.x4.shared.b16", "mma": "mma.m16n8k16.row.col.f32.f16.f16.f32", "operand": "a"},
    "/api/v1/banks": {"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
    "/api/v1/banks/solve": {"row_bytes": 128, "accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}, {"access": "st.shared.b128", "address": [16 * lane for lane in range(32)]}]},
    "/api/v1/steps": {"instruction": "mma.m8n8k16.row.col.s32.s8.s8.s32", "data": {"a": "i", "b": "-(i + 1)"}, "row": 0, "col": 1},
    "/api/v1/gpu/runs": {"kind": "mma", "instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32", "backend": "numpy"},
}  # fmt: skip

# One link to try for each route that can be read without a body.
EXAMPLES = {
    "/api/v1/instructions": "/api/v1/instructions?family=mma&type=e4m3&target=sm_89",
    "/api/v1/instructions/{ptx}": "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32",
    "/api/v1/instructions/{ptx}/operands/{name}": "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32/operands/a",
    "/api/v1/topics": "/api/v1/topics?q=wgmma.fence",
    "/api/v1/instructions/{ptx}/kernel": "/api/v1/instructions/wgmma.mma_async.m64n32k16.f32.f16.f16/kernel?a=major=MN,swizzle=64B&b=major=MN",
    "/api/v1/instructions/{ptx}/metadata": "/api/v1/instructions/mma.sp.m16n8k32.row.col.f32.f16.f16.f32/metadata?words=0x44444444",
    "/api/v1/smem/tile": "/api/v1/smem/tile?major=K&swizzle=128B&mn=128&k=64",
    "/api/v1/descriptors/{word}": "/api/v1/descriptors/0x4000004004000101",
    "/api/v1/reuse": "/api/v1/reuse?from=mma.m16n8k16.row.col.f32.f16.f16.f32&to=mma.m16n8k16.row.col.f32.f16.f16.f32",
    "/api/v1/compare": "/api/v1/compare?left=ldmatrix.m8n8.x1.b16/data&right=ldmatrix.m8n8.x1.trans.b16/data",
    "/api/v1/gpu": "/api/v1/gpu",
    "/i/{ptx}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32.svg?theme=dark",
    "/i/{ptx}/{operand}.{form}": "/i/mma.m16n8k16.row.col.f32.f16.f16.f32/a.svg?colour=t&lanes=0-7",
    "/smem.{form}": "/smem.svg?major=K&swizzle=128B&mn=64&k=64",
    "/descriptor/wgmma/{word}.{form}": "/descriptor/wgmma/0x4000004004000101.svg",
    "/metrics": "/metrics",
    "/healthz": "/healthz",
    "/readyz": "/readyz",
}

# The options of a diagram and what each takes: addresses, the builder page and the command line.
DIAGRAM = {
    "colour": "a name of the pattern, or register",
    "label": "lane:value, register, row,col, index or none",
    "lanes": "lanes or threads shown: 0-7,12",
    "warps": "warps of a warpgroup shown: 0,2",
    "rows": "window: 0-15",
    "cols": "window: 0-7",
    "theme": "light, dark or bw (hatches)",
    "cell": "a cell in pixels: 40 or 40x20",
    "title": "text above; empty for none",
    "legend": "1: what the colours mean",
    "caption": "1: pattern and formulas below",
    "lang": "en, de, fr or zh",
    "product": "which of m8n8k4's four",
    "scale": "PNG pixels a unit, 0.25 to 8; 2 or what fits",
    "embed": "TeX: 1 for a tikzpicture to \\input",
}

# How a tile is drawn: query parameter → (default, what it takes). Addresses, the page's form and the command line.
LOOK = {
    "down": ("", "the dimension that rows run along: mn or k; the one that is not contiguous where it is left out"),
    "unit": ("chunk", "what a cell is: chunk (16 bytes) or element"),
    "number": ("logical", "what cells are numbered by: logical (contiguous dimension first), memory, or none"),
    "show": ("both", "both, tile or memory"),
    "plain": ("0", "1: memory before the swizzle"),
}

# What the forms call their fields, by page; an error stands beside its field in these words. A name that is not here is called what it is.
STORED = {
    "storage.swizzle": "stored with swizzle", "storage.mn": "tile MN", "storage.k": "tile K", "storage.order": "atoms first along",
    "storage.inner": "contiguous way", "storage.pitch_bytes": "pitch, bytes", "storage.width_bytes": "panel width, bytes",
    "storage.line_stride": "line stride", "storage.outer8_stride": "stride of 8 lines", "storage.inner_stride": "stride of panels",
    "storage.swizzle_by": "swizzled by", "storage.layout": "CuTe (mn, k)", "storage.unit": "unit", "storage.base": "first byte",
}  # fmt: skip
DRAWN = {"down": "rows run along", "unit": "a cell is", "number": "numbers", "show": "show", "plain": "memory"}
SIDES = {"a": "A stored", "b": "B stored", "d": "D options"}  # options of a whole product
STEPS = {"row": "element of D: row", "col": "column", "product": "product", "seed": "seed of random numbers", "c": "C"}
LABELS = {
    "smem": {"element_bits": "element bits", "mn": "MN", "k": "K", "rows": "instruction rows", "order": "atoms first along", **DRAWN},
    "atoms": {"element_bits": "element bits", **DRAWN},
    "descriptor": {
        "descriptor": "word", "swizzle": "swizzle 63–62", "base_offset": "base offset 51–49", "sbo_bytes": "SBO bytes 45–32", "lbo_bytes": "LBO bytes 29–16",
        "start_address": "start address bytes 13–0", "major": "read as", "slice.mn": "slice at mn", "slice.k": "slice at k",
        "storage.kind": "my program stored the tile as", "compare": "compare with", **STORED,
    },
    "chain": {"major": "contiguous in memory", "storage.kind": "stored as", **STORED},
    "banks": {
        "pattern": "lanes ask for", "row_bytes": "bytes a row", "pad": "padding", "address": "or the byte address of each lane",
        "accesses": "free together with (access:pattern or access:addresses, …)",
    },
    "run": {"address": "byte address of each lane", "a_from": "A from", **SIDES},
    "steps": {**STEPS, "a": "A", "b": "B"},
    "steps_wgmma": {**STEPS, **SIDES, "data_a": "A", "data_b": "B"},
    "metadata": {"words": "e of every lane, or one word for all (hex)"},
    "reuse": {"from": "D of", "to": "A of"},
    "diagram": {
        "ptx": "instruction", "operand": "matrix", "colour": "colour by", "cols": "columns", "cell": "cell, pixels", "caption": "pattern and formulas",
        "lang": "language", "scale": "pixels a unit", "embed": "to \\input, not standalone",
    },
}  # fmt: skip
