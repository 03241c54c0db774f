"""What the forms call their fields, by page; an error stands beside its field in these words. A name that is not here
is called what it is.
"""

from lanescope.blackwell.zeromask import FIELDS
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.ptx.table.kinds import KINDS

STORED = {
    "storage.swizzle": "Stored with swizzle", "storage.mn": "Tile M or N", "storage.k": "Tile K",
    "storage.order": "Atoms first along",
    "storage.inner": "Contiguous dimension", "storage.pitch_bytes": "Row pitch, bytes",
    "storage.width_bytes": "Panel width, bytes",
    "storage.line_stride": "Row stride, bytes", "storage.outer8_stride": "Stride of 8 rows, bytes",
    "storage.inner_stride": "Panel stride, bytes",
    "storage.swizzle_by": "XOR applied to", "storage.layout": "CuTe layout (mn, k)", "storage.unit": "Unit",
    "storage.base": "First byte",
}  # fmt: skip
DRAWN = {"down": "Rows run along", "unit": "One cell is", "number": "Numbers", "show": "Show", "plain": "Memory"}
SIDES = {"a": "A stored", "b": "B stored", "d": "D options"}  # options of a whole product
IDESC = {part.name: part.field.title[0].upper() + part.field.title[1:] for kind in KINDS for part in kind.parts}
ZERO_MASK = {f.name: f.name.replace("_", " ").capitalize() for f in FIELDS}
STEPS = {"row": "Row of D", "col": "Column of D", "product": "Product", "seed": "Random seed", "c": "C"}
_LOOP = {
    "copy": "Store", "bits": "Bits", "thr": "Thread layout", "val": "Value layout", "pitch": "Bytes per row",
    "major": "Contiguous", "swizzle": "Stored with swizzle", "load": "Load", "read": "Read with swizzle",
    "global": "Global memory",
}  # fmt: skip
LOOP_FIELDS = {
    "store.atom": "copy", "store.bits": "bits", "store.thr_layout": "thr", "store.val_layout": "val",
    "storage.pitch_bytes": "pitch", "loaded_from.pitch_bytes": "pitch", "major": "major", "load": "load",
    "global": "global",
}  # fmt: skip
LABELS = {
    "smem": {"element_bits": "Element bits", "major": "Major", "swizzle": "Swizzle", "mn": "Tile M or N", "k": "Tile K",
    "rows": "Rows of one instruction", "order": "Atoms first along", "base": "First byte", **DRAWN},
    "atoms": {"element_bits": "Element bits", **DRAWN},
    "descriptor": {
        "descriptor": "word", **{f.amount: f.label for f in reversed(WGMMA.fields)},
        "instruction": "Instruction", "idesc": "Instruction descriptor", "operand": "Operand", "major": "Read as",
        "slice.mn": "First row (M or N)", "slice.k": "First k",
        "storage.kind": "Stored as", "compare": "Compare with", **STORED,
    },
    "dump": {
        "dump": "Dump of shared memory", "expected": "Expected tile", "descriptor": "Descriptor",
        "instruction": "Instruction", "operand": "Operand", "major": "Read as", "base": "Address of the first byte",
        "expected_as": "Expected tile holds", "slice.mn": "First row (M or N)", "slice.k": "First k",
    },
    "capture": {
        "capture": "Capture", "second": "Second pass of an 8-bit type", "a": "A, (m, k), .npy", "b": "B, (k, n), .npy",
        "nk": "B is (n, k)",
    },
    "short": {f.name: f.short for f in WGMMA.fields},
    "chain": {"mma": "Instruction", "operand": "Operand", "load": "Load or store", "major": "Contiguous dimension",
    "storage.kind": "Stored as", **STORED},
    "banks": {
        "access": "Access", "swizzle": "Swizzle",
        "pattern": "Lane addresses", "row_bytes": "Bytes per row", "pad": "Padding per row, bytes",
        "address": "Or one byte address per lane",
        "accesses": "Other accesses to the same tile (access:pattern or access:addresses)",
    },
    "tiles_loop": {
        "atom": "TiledMMA's atom", "atom_layout": "Atom layout (M, N, K)", "permutation": "Permutation (M, N, K)",
        "tile": "Tile (M, N, K)", "tiled_mma.atom": "TiledMMA's atom", "tiled_mma.atom_layout": "Atom layout (M, N, K)",
        "tiled_mma.permutation": "Permutation (M, N, K)", "tiled_mma.tile": "Tile (M, N, K)",
        **{f"{side}_{name}": text for side in "ab" for name, text in _LOOP.items()},
        **{f"{side}.{path}": f"{side.upper()}, {_LOOP[name].lower()}" for side in "ab"
           for path, name in LOOP_FIELDS.items()},
    },
    "tiles_copy": {
        "atom": "Copy atom", "bits": "Bits per access", "element_bits": "Bits per element",
        "tile": "Tile, rows x columns",
        "thr_layout": "Thread layout", "val_layout": "Value layout", "mma": "Operand of the TiledMMA", "tiled_mma.atom":
        "Operand of the TiledMMA", "tiled_mma.atom_layout": "Atom layout", "tiled_mma.permutation": "Permutation",
        "operand": "Operand", "atom_layout": "Atom layout", "permutation": "Permutation", "stored": "In shared memory",
        "storage": "In shared memory", "pitch_bytes": "Bytes per row", "storage.pitch_bytes": "Bytes per row",
        "swizzle": "Swizzle", "major": "Contiguous", "layout": "Shared memory, (row, column) to element",
        "storage.layout": "Shared memory, (row, column) to element",
        "global": "Global memory, (row, column) to element", "layout_tv": "Layout (thread, value) to element",
        "tiler_mn": "Tiler (M, N)", "multicast": "CTAs that share it", "storage.swizzle": "Swizzle",
        "storage.mn": "Tile, rows x columns", "storage.k": "Tile, rows x columns",
    },
    "tiles_chain": {"first": "First atom", "second": "Second atom", "first.atom": "First atom",
        "second.atom": "Second atom", "first.atom_layout": "Atom layout (M, N, K)", "second.atom_layout":
        "Atom layout (M, N, K)", "first.tile": "First tile (M, N, K)", "second.tile": "Second N",
        "atom_layout": "Atom layout (M, N, K)", "tile": "First tile (M, N, K)", "width": "Second N"},
    "tiles_mma": {"atom": "Atom", "atom_layout": "Atom layout (M, N, K)", "permutation": "Permutation (M, N, K)",
        "tile": "Tile (M, N, K)", "idesc": "Instruction descriptor", "a_from": "A from", "swizzle_a": "Swizzle of A",
        "swizzle_b": "Swizzle of B", "order": "Atoms laid first"},
    "run": {"access": "Access", "address": "One byte address per lane", "a_from": "A from", "instruction":
    "Instruction", "descriptor": "Descriptor", "major": "Major", "operand": "Operand", "seed": "Seed",
    "architecture": "Architecture", "worker": "Device", **SIDES},
    "steps": {**STEPS, "a": "A", "b": "B"},
    "steps_wgmma": {**STEPS, **SIDES, "data_a": "A", "data_b": "B"},
    "metadata": {"selector": "Selector", "words": "e of every lane, or one word for all (hex)"},
    "idesc": {"word": "Word", "kind": "Kind", "form": "Form", "cta_group": "CTA group", "ws": ".ws", **IDESC},
    "tmem": {
        "kind": "Kind", "cta_group": "CTA group", "ws": ".ws", "sparse": "Sparse A", "m": "M", "n": "N", "k": "K",
        "bits": "Element bits", "scale_vec": "Scale vector", "d_at": "D", "a_at": "A", "metadata_at": "Metadata",
        "scale_a_at": "Scale A", "scale_b_at": "Scale B", "alloc": "Columns allocated", "first": "First column",
        "more": "More MMAs in the same columns", "access": "Load, store, copy or shift", "at": "At lane:column",
        "warp": "By warp", "look": "Look at lane:column", "split": "Half split", "idesc": "Its idesc",
    },
    "epilogue": {"kind": "Kind", "cta_group": "CTA group", "ws": ".ws", "m": "M", "n": "N", "d": "Type of D",
        "access": "Load", "element": "Stored as", "stored": "In shared memory", "warp": "Warp", "thread": "Thread"},
    "metadata_order": {"opcode": "Instruction", "element": "Type of A", "rows": "Rows of A", "k": "K of dense A",
        "tile_k": "K of the tile", "row": "Row", "group": "Group of K"},
    "scales": {
        "kind": "Kind", "scale_vec": "Scale vector", "cta_group": "CTA group", "sparse": "Sparse A", "m": "M",
        "n": "N", "tile_k": "K of the tile", "column": "First column", "shared": "First byte of shared memory",
        "side": "Look at factor of", "row": "Row of A or column of B", "factor": "Factor",
    },
    "zero_mask": {"word": "Word", "m": "M", "n": "N", **ZERO_MASK},
    "reuse": {"from": "D of", "to": "A of"},
    "compare": {"left": "Left operand", "right": "Right operand"},
    "triton": {"text": "Layout, or a module", "shape": "Tensor", "element_bits": "Element bits", "colour": "Colour",
    "thread": "Thread", "to": "Convert to", "axes": "Axes down, across", "at": "Index of the others",
    "row": "First row", "pick": "Layout"},
    "cute": {"expression": "Expression"},
    "tv": {"cute": "Layout (thread, value) → element", "tile": "Tile", "element_bits": "Element bits",
    "slice": "Slice", "colour": "Colour", "thread": "Thread", "to": "Compare with", "axes": "Axes down, across",
    "at": "Index of the others", "row": "First row", "stored": "In shared memory"},
    "diagram": {
        "ptx": "Instruction", "operand": "Matrix", "form": "File format", "theme": "Theme", "colour": "Colour",
        "label": "Label", "lanes": "Lanes", "warps": "Warps", "rows": "Rows", "cols": "Columns",
        "cell": "Cell size, pixels", "title": "Title", "legend": "Legend", "caption": "Pattern and formulas",
        "lang": "Language", "scale": "Pixels per unit", "embed": "For \\input, not standalone",
        "idesc": "Instruction descriptor",
    },
}  # fmt: skip
