"""The bar above every page: its menus, and which of them the page at hand stands in.

The families under "Instructions" are the catalogue's; everything else is a row here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A link of a menu: its words, where it leads, and what stands there."""

    text: str
    href: str
    about: str


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu: its title, its links, and the first parts of the paths that belong to it."""

    title: str
    entries: tuple[Entry, ...]
    paths: frozenset[str]


MENUS = (
    Menu(
        "Instructions",
        (
            Entry("All instructions", "/instructions", "every shape and type, with filters"),
            Entry("Compare operands", "/compare", "where two register layouts differ"),
            Entry("D as the next A", "/reuse", "which values have to move between lanes"),
            Entry("Metadata order", "/metadata/order", "sparsity metadata as CUTLASS’s compressors write them"),
            Entry("Hardware evidence", "/gpu", "what ran, where, and what it showed"),
        ),
        frozenset({"instructions", "i", "compare", "reuse", "steps", "kernel", "metadata", "gpu"}),
    ),
    Menu(
        "Shared memory",
        (
            Entry("Matrix descriptor", "/descriptor", "which bytes a word reads, and whether they are your tile"),
            Entry("Capture", "/capture", "what the instructions of your own kernel really read"),
            Entry("Memory dump", "/dump", "what it reads from bytes you copied out, and where your tile lies"),
            Entry("Tile", "/smem", "where each element lies under a swizzle mode"),
            Entry("Swizzle atoms", "/smem/atoms", "the smallest repeating blocks, side by side"),
            Entry("Bank conflicts", "/banks", "wavefronts of one warp's access"),
            Entry("ldmatrix chain", "/chain", "from a stored tile to the operand's registers"),
        ),
        frozenset({"smem", "descriptor", "capture", "dump", "banks", "chain"}),
    ),
    Menu(
        "Tiles",
        (
            Entry("TiledMMA", "/tiles/mma", "which thread of a block holds which element"),
            Entry("TiledCopy", "/tiles/copy", "who moves what, how wide, at which cost in banks and sectors"),
            Entry("C as the next A", "/tiles/mma/chain", "FlashAttention’s P: is it there in registers?"),
            Entry("Main loop", "/tiles/loop", "from global memory to registers: what arrives, what it costs"),
            Entry("Thread-value layout", "/layouts/tv", "any CuTe TV layout over a tile, and what it feeds"),
            Entry("CuTe algebra", "/cute", "composition, complement, divides and products, step by step"),
            Entry("Triton layout", "/layouts/triton", "bases, threads and registers, CuTe's words for the same"),
        ),
        frozenset({"tiles", "layouts", "cute"}),
    ),
    Menu(
        "Blackwell",
        (
            Entry("Tensor memory", "/tmem", "what lies in which lane and column, and which warp may read it"),
            Entry("Epilogue", "/tmem/epilogue", "D from tensor memory to stmatrix or to rows of global memory"),
            Entry("Scale factors", "/scale-factors", "from row-major to tensor memory, and the id of each step of K"),
            Entry("Matrix descriptor", "/descriptor/tcgen05", "which bytes tcgen05.mma's word reads"),
            Entry("Instruction descriptor", "/idesc", "what the 32 bits of a tcgen05.mma say, and the word you want"),
            Entry("Zero-column mask", "/zero-column-mask", "which columns of B tcgen05.mma.ws takes as zero"),
        ),
        frozenset({"tmem", "scale-factors", "idesc", "zero-column-mask"}),
    ),
    Menu(
        "Diagrams",
        (
            Entry("Make a figure", "/diagram", "SVG, PNG, PDF or TikZ of any operand"),
            Entry("Gallery", "/gallery", "figures to copy, with their addresses"),
        ),
        frozenset({"diagram", "gallery"}),
    ),
)


PLACES = {path: menu.title for menu in MENUS for path in sorted(menu.paths)} | {"guide": "Guide"}


def menu_of(path: str) -> str:
    """The title of the menu that a page belongs to; "" for the pages outside all menus."""
    return PLACES.get(path.strip("/").split("/")[0], "")
