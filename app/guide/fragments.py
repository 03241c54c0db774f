"""Texts about fragments: the layouts of partitions and registers in the guide's pages, and their tables.

`{{fragment flash b Vt}}`: a TiledMMA of MMAS, an operand, a layout of LAYOUTS or in CuTe's words.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote

import numpy as np

from lanescope.app.guide.markdown import format_link
from lanescope.cute import algebra
from lanescope.cute.calls import evaluate_statements, format_value
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.ptx.catalog import find
from lanescope.render.tables import format_table
from lanescope.tiles.copy_layouts import copy_from_operand
from lanescope.tiles.fragments import Fragment, make_fragment, retile_fragment
from lanescope.tiles.mma import TiledMMA
from lanescope.tiles.reuse import match_accumulator
from lanescope.tiles.tiled_mma import tiled_mma

MMAS = {  # name → atom, AtomLayoutMNK, PermutationMNK
    "square": ("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)"),
    "flash": ("SM80_16x8x16_F32F16F16F32_TN", "(4,1,1)", "(64,16,16)"),
    "hopper": ("SM90_64x64x16_F32F16F16_RS", "(1,1,1)", None),
}
LAYOUTS = {
    "K": "(128,64):(64,1)",
    "M": "(128,64):(1,128)",
    "swizzled": "Sw<3,3,3> o 0 o ((8,16),64):((64,512),1)",
    "KV": "Sw<3,3,3> o 0 o ((8,8),(64,2)):((64,512),(1,4096))",
    "Vt": "Sw<3,3,3> o 0 o ((64,2),64):((1,4096),64)",
    "Vt-plain": "((64,2),64):((1,4096),64)",
}
PAIRS = (  # the product whose D becomes A, the product that takes it
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16.row.col.f32.f16.f16.f32"),
    ("mma.m16n8k16.row.col.f32.bf16.bf16.f32", "mma.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("mma.m16n8k32.row.col.s32.s8.s8.s32", "mma.m16n8k16.row.col.f32.f16.f16.f32"),
    ("mma.m16n8k32.row.col.s32.s8.s8.s32", "mma.m16n8k32.row.col.s32.s8.s8.s32"),
    ("mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ("wgmma.mma_async.m64n128k16.f32.f16.f16", "wgmma.mma_async.m64n64k16.f32.f16.f16"),
    ("wgmma.mma_async.m64n128k32.f32.e4m3.e4m3", "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3"),
)
VERDICTS = {
    "registers": "same registers, renamed",
    "reordered": "same lanes once K is reordered",
    "shuffle": "lanes exchange elements",
}
CLUSTER = CuteLayout((2, 4), (1, 2))  # (M, N) of a cluster → rank of the CTA, as CuTe numbers them


@lru_cache(maxsize=8)
def _get_mma(name: str) -> TiledMMA:
    atom, atom_layout, permutation = MMAS[name]
    return tiled_mma(atom, atom_layout, permutation)


@lru_cache(maxsize=32)
def _find_fragment(text: str) -> Fragment:
    name, operand, layout = text.split(" ", 2)
    return make_fragment(_get_mma(name), operand, parse_cute_layout(LAYOUTS.get(layout, layout)))


def format_tensor(name: str) -> str:
    """Format a layout of LAYOUTS."""
    return LAYOUTS[name]


def format_partition(text: str) -> str:
    """Format the partition of a tensor for thread 0."""
    return str(_find_fragment(text).partition)


def format_fragment(text: str) -> str:
    """Format the registers of a fragment."""
    return str(_find_fragment(text).registers)


def format_retiled(text: str) -> str:
    """Format a fragment in the values of a copy; the last word is the number of values of its atom."""
    fragment, _, values = text.rpartition(" ")
    return str(retile_fragment(_get_mma(fragment.split(" ", 1)[0]), _find_fragment(fragment), int(values)))


def format_retile_query(text: str) -> str:
    """Format the query of /cute that retiles a fragment."""
    fragment, _, values = text.rpartition(" ")
    found = _find_fragment(fragment)
    tv, tiler = copy_from_operand(_get_mma(fragment.split(" ", 1)[0]), found.operand, int(values))
    called = f"retile({found.registers}, {tv}, {algebra.format_tiler(tiler)}, {values})"
    return f"expression={quote(called, safe='(),:')}"


def format_rows(text: str) -> str:
    """Format an accumulator as rows and columns."""
    return str(algebra.convert_layout_acc_rowcol(_find_fragment(text).registers))


def format_next_a(text: str) -> str:
    """Format an accumulator in the modes of the next A; the first word is the bits of an element of A."""
    bits, fragment = text.split(" ", 1)
    return str(algebra.convert_layout_acc_aregs(_find_fragment(fragment).registers, int(bits)))


def format_result(expression: str) -> str:
    """Format the result of an expression of CuTe's algebra for an address."""
    last = evaluate_statements(expression)[-1]
    if last.error:
        raise last.error
    return format_value(last.result)


def render_accumulators() -> str:
    """Render which accumulators are A of the next product, and which values have to move."""
    rows = []
    for first, second in PAIRS:
        reuse = match_accumulator(find(first), find(second))
        link = f"/reuse?from={find(first).ptx}&to={find(second).ptx}"
        stays = f"{int(reuse.stays.sum()):,} of {reuse.stays.size:,}"
        rows.append((f"`{first}`", f"`{second}`", format_link(VERDICTS[reuse.verdict], link), stays))
    return format_table(("D of", "A of", "verdict", "elements already in their lane"), rows)


def count_misplaced(depth: int, rows: int, order: tuple[int, ...] | None) -> tuple[int, int]:
    """Count the elements of V that a transposed layout of atoms of 64 × `rows` misplaces, and all elements.

    depth: the head dimension; V has 64 rows, stored in atoms of 8 × 64.
    """
    stored = algebra.tile_to_shape(CuteLayout((8, 64), (64, 1)), (64, depth))
    transposed = algebra.composition(stored, CuteLayout((depth, 64), (64, 1)))
    taken = algebra.tile_to_shape(CuteLayout((64, rows), (1, 64)), (depth, 64), order)
    differ = transposed.list_indices() != taken.list_indices()
    return int(np.count_nonzero(differ)), int(differ.size)


def render_transposed_atoms() -> str:
    """Render which atoms of the transposed V have V's own addresses."""
    table = []
    for depth in (64, 128, 256):
        for rows, order, words in ((64, None, ""), (8, None, ""), (8, (2, 1), ", Step<_2,_1>")):
            wrong, total = count_misplaced(depth, rows, order)
            end = ",(2,1)" if order else ""
            link = f"/cute?expression=tile_to_shape((64,{rows}):(1,64),({depth},64){end})"
            verdict = f"{wrong:,} of {total:,} elsewhere" if wrong else "every element at its address"
            table.append((str(depth), format_link(f"`(64,{rows}):(1,64)`{words}", link), verdict))
    return format_table(("head dimension", "atom of Vᵀ, order", "compared with V as it is stored"), table)


def render_masks() -> str:
    """Render the masks of A and B for each CTA of a cluster of 2 × 4."""
    rows = []
    for rank in range(CLUSTER.size):
        at = (rank % 2, rank // 2)
        masks = []
        for mode in (1, 0):  # A is the same along N, B along M
            mask = algebra.create_tma_multicast_mask(CLUSTER, at, mode)
            link = f"/cute?expression=create_tma_multicast_mask<{mode}>({CLUSTER},({at[0]},{at[1]}))".replace(" ", "")
            masks.append(format_link(f"`{mask:#04x}`", link.replace("<", "%3C").replace(">", "%3E")))
        rows.append((str(rank), f"({at[0]}, {at[1]})", *masks))
    return format_table(("rank", "(M, N)", "mask of A", "mask of B"), rows)
