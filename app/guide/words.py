"""Keys and glossary of the help page."""

KEYS = (
    ("/", "go to the paste box; there, Enter submits and Shift+Enter starts a new line"),
    ("arrows", "move between the cells of a matrix or a picture that has the focus"),
    ("a  b  d", "go to the matrix of that operand"),
    ("m", "go to the next matrix"),
    ("Enter or space", "pin the lane of the cell; in D, also trace the dot product"),
    ("Esc", "release the pinned cell"),
    ("+  −", "zoom in or out; the wheel zooms at the pointer"),
    ("0", "fit all matrices, as a double click does"),
    ("1", "make the cells large enough to read"),
    ("f", "find an element, a lane or a register; Shift+Enter compares it with what is pinned"),
    ("z", "full screen"),
    ("l", "the matrix as a table of lanes"),
    ("Enter or space", "in sparsity metadata: select the next legal choice of a group"),
    ("t", "switch between light and dark"),
    ("?", "this page"),
)
GLOSSARY = (
    ("lane", "One of the 32 threads of a warp, 0 to 31."),
    ("thread", "In a warpgroup, 0 to 127: four warps of 32 lanes."),
    ("value", "An index inside one thread's fragment: a0, a1, … in register order, low bits first."),
    (
        "register",
        "32 bits (64 for f64) of one thread. Narrow elements are packed; the first is in the lowest bits.",
    ),
    ("fragment", "The part of a matrix that one thread holds."),
    ("multiplicand", "A or B."),
    ("accumulator", "C or D."),
    ("groupID", "lane / 4, written g in patterns."),
    ("threadID_in_group", "lane % 4, written t in patterns."),
    ("copy", "An element held by more than one (lane, value) pair, in the same lane or in several."),
    ("core matrix", "8 rows of 16 bytes, the unit of wgmma's shared-memory layouts."),
    (
        "atom",
        "The block of a swizzle pattern: 8 rows of 16, 32, 64 or 128 bytes (K-major), or its transpose (MN-major).",
    ),
    ("LBO", "Leading dimension byte offset of a wgmma descriptor, in bytes; encoded as bytes ÷ 16."),
    ("SBO", "Stride dimension byte offset, in bytes; encoded as bytes ÷ 16."),
    (
        "base offset",
        (
            "For data swizzled by its offset in the tile: the number of 128-byte rows from a multiple of the pattern to"
            " the start of the tile. The hardware subtracts it. It is 0 for data swizzled by address, as TMA does."
        ),
    ),
    ("K-major, MN-major", "Which dimension of an operand is contiguous in memory."),
    ("bank", "One of the 32 columns of shared memory, 4 bytes wide; it serves one word per wavefront."),
    (
        "phase",
        (
            "The lanes of an access that can share a wavefront: 8 for ldmatrix and stmatrix, half a warp for ld.shared"
            " and st.shared of 64 bits, a quarter for 128 bits, else the whole warp. Loads join two phases where every"
            " lane loads what its neighbour loads."
        ),
    ),
    (
        "wavefront",
        "One pass through shared memory for a warp's access. More than the ideal number is a bank conflict.",
    ),
    ("sparsity selector", "Selects the lanes of each group of four that supply the metadata of mma.sp."),
    ("simulation", "A run of the NumPy reference. It follows the maps, so it does not prove them."),
    (
        "evidence",
        "How a map is confirmed: the instruction ran on hardware, it assembles, or only the document states it.",
    ),
)
