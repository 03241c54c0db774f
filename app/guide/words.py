"""Keys and glossary of the help page."""

KEYS = (
    ("/", "to the paste box, from anywhere; there Enter sends, Shift and Enter break the line"),
    ("arrows", "move from cell to cell inside a matrix"),
    ("a  b  d", "jump to that operand's matrix"),
    ("m", "jump to the next matrix"),
    ("Enter or space", "pin the cell's lane; in D, trace its dot product too"),
    ("Esc", "free the pinned cell"),
    ("+  −", "zoom in, zoom out; so does the wheel, at the pointer"),
    ("0", "fit the whole of every matrix; so does a double click"),
    ("1", "cells large enough to read"),
    ("f", "full screen"),
    ("l", "the matrix as a table of lanes"),
    ("p", "the matrix as a Plotly heat map"),
    ("Enter or space", "in sparsity metadata: the next legal choice of a group; arrows move"),
    ("t", "light or dark"),
    ("?", "this page"),
)
GLOSSARY = (
    ("lane", "One of the 32 threads of a warp, 0 to 31."),
    ("thread", "In a warpgroup, 0 to 127: four warps of 32 lanes."),
    ("value", "An index inside one thread's fragment: a0, a1, … in register order, low bits first."),
    (
        "register",
        "32 bits (64 for f64) of one thread; narrow elements are packed, the lowest value in the lowest bits.",
    ),
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
        (
            "For data swizzled by their offset in the tile: how many 128-byte rows past a multiple of the pattern the"
            " tile starts; the hardware subtracts it. Data swizzled by address, TMA's among them, need 0."
        ),
    ),
    ("K-major, MN-major", "Which dimension of an operand is contiguous in memory."),
    ("bank", "One of the 32 columns of shared memory, 4 bytes wide; it serves one word a wavefront."),
    (
        "phase",
        (
            "Lanes of one access whose requests can share a wavefront: 8 for ldmatrix and stmatrix, the whole warp for"
            " ld.shared, half or a quarter of it for st.shared of 64 or 128 bits."
        ),
    ),
    ("wavefront", "One pass of shared memory for a warp's access; more than the ideal number is a bank conflict."),
    ("sparsity selector", "Which lanes of each group of four supply the metadata of an mma.sp."),
    ("simulation", "A run of the NumPy reference: it shows what the maps say and proves nothing about them."),
    ("evidence", "What stands behind a map: an instruction that ran, one that assembles, or the document alone."),
)
