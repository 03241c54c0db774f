"""The timeline of a wgmma: phases and steps, the reads of each step, and a caption for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lanescope.app.steps.captions import (
    Phase,
    StepperPhase,
    format_address,
    format_count,
    format_element,
    format_range,
    format_span,
    place_steps,
)
from lanescope.app.steps.described import LINES_OF_CORE, AddressTerms, DescribedOperand
from lanescope.app.steps.wgmma_fields import caption_field, explain_line, mark_field, name_mn
from lanescope.app.steps.wgmma_product import DescribedProduct, WgmmaMove, WgmmaStep
from lanescope.app.steps.wgmma_registers import caption_next_step, caption_warp
from lanescope.descriptor.matrix import find_unread_fields
from lanescope.ptx.instruction import WARP, Operand

WARP_ROWS = 16


def build_timeline(
    product: DescribedProduct,
) -> tuple[list[StepperPhase], list[WgmmaStep], dict[str, list[WgmmaMove]]]:
    """Build the phases and steps of a product, in order, and the reads of A and of B in each step."""
    moves: dict[str, list[WgmmaMove]] = {name: _list_first_moves(product, name) for name in product.operands}
    parts: list[Phase[WgmmaStep]] = [("Memory", 1.7, _list_memory_steps(product))]
    if product.register_operand:
        parts.append(("A in registers", 1.7, _list_hold_steps(product.register_operand)))
    for name in product.operands:
        letter = name.upper()
        parts.append((f"Descriptor {letter}", 2.4, _list_field_steps(product, name)))
        reads = [_make_read_step(product, name, n, move) for n, move in enumerate(moves[name])]
        parts.append((f"Core matrices {letter}", 4.2 if name == "a" else 2.8, reads))
    first = [n for n, (_, end) in enumerate(product.groups) if end <= product.k]
    parts.append(("Multiply", 3.0, [_make_k_step(product, n) for n in first]))
    later: list[WgmmaStep] = []
    for step in range(1, product.k_steps):
        for name in product.operands:
            moves[name].append(
                WgmmaMove(k_step=step, warp=-1, cores=list(range(len(_list_cores(product, name)))), line=-1)
            )
        later += [
            _make_advance_step(product, step),
            _make_whole_read_step(product, step),
            _make_k_step(product, len(first) + step - 1),
        ]
    if later:
        parts.append(("Next K steps", 2.7, later))
    parts.append(("D in lanes", 1.9, _list_out_steps(product)))
    return *place_steps(parts), moves


def _make_step(
    kind: str,
    at: str,
    caption: str,
    operand: str = "",
    index: int = 0,
    *,
    warp: int = -1,
    k_step: int = 0,
    marks: Iterable[int] = (),
) -> WgmmaStep:
    return WgmmaStep(
        phase=0,
        kind=kind,
        operand=operand,
        index=index,
        at=at,
        caption=caption,
        warp=warp,
        k_step=k_step,
        marks=list(marks),
    )


def _list_cores(product: DescribedProduct, name: str) -> list[int]:
    """Return the core matrices of an operand that are shown: for B those in the visible columns."""
    operand = product.operands[name]
    rows = range(product.columns.start, product.columns.stop) if name == "b" else range(operand.side.mn)
    return [n for n in range(len(operand.cores)) if operand.get_corner(n)[0] in rows]


def _list_first_moves(product: DescribedProduct, name: str) -> list[WgmmaMove]:
    """Return the reads of the first K step: the first core matrix line by line, the others at once."""
    operand, moves = product.operands[name], []
    for n, core in enumerate(_list_cores(product, name)):
        warp = operand.get_corner(core)[0] // WARP_ROWS if name == "a" else -1
        lines: Iterable[int] = range(LINES_OF_CORE) if n == 0 else (-1,)
        moves += [WgmmaMove(k_step=0, warp=warp, cores=[n], line=line) for line in lines]
    return moves


# memory ---------------------------------------------------------------------------------------------------------------


def _list_memory_steps(product: DescribedProduct) -> list[WgmmaStep]:
    swizzled = [operand for operand in product.operands.values() if operand.placed.xor.bits]
    stored = [f"{name.upper()} is stored {_describe_storage(operand)}" for name, operand in product.operands.items()]
    first = next(iter(product.operands.values())).side.step
    text = (
        "Shared memory in lines of 128 bytes, 8 chunks of 16 bytes."
        f" {', '.join(stored).replace(', B is stored', ', B')};"
        f" the coloured chunks hold k {product.format_k(0, first - 1)}, the first of {product.k_steps} K steps."
    )
    if product.per > 1:
        text += f" A number of A or B is a byte in hex: {product.per} elements along K, the first in the lowest bit."
    if product.is_window:
        columns = format_range(product.columns.start, product.columns.stop - 1)
        text += f" Of N = {product.n} columns the picture shows {columns}."
    steps = [_make_step("plain", "before the XOR" if swizzled else "no swizzle", text)]
    if swizzled:
        modes = {operand.stored[0].mode.name: operand for operand in swizzled}
        steps.append(
            _make_step("xor", " and ".join(modes), " ".join(_caption_xor(value) for value in modes.values()), index=1)
        )
    return steps


def _list_hold_steps(operand: Operand) -> list[WgmmaStep]:
    warps = range(operand.threads // WARP.threads)
    return [_make_step("hold", f"warp {warp}", caption_warp(operand, warp), "a", warp, warp=warp) for warp in warps]


def _describe_storage(operand: DescribedOperand) -> str:
    mode = operand.stored[0].mode.name
    pattern = "without a swizzle" if mode == "none" else f"with the {mode} swizzle"
    return f"{'K' if operand.side.major == 'K' else name_mn(operand)}-major {pattern}"


def _caption_xor(operand: DescribedOperand) -> str:
    mode, xor = operand.stored[0].mode, operand.placed.xor
    terms = xor.list_terms()  # in bits
    moved = format_range(terms[0][0] - 3, terms[-1][0] - 3)
    by = format_range(terms[0][1] - 3, terms[-1][1] - 3)
    name = f"The {mode.name} swizzle" if mode.name != "none" else f"The swizzle {xor}"
    return (
        f"{name} XORs address bit{'s' * (xor.bits > 1)} {by} into {moved}, so that each chunk"
        " of 16 bytes moves inside its line."
    )


# descriptor -----------------------------------------------------------------------------------------------------------


def _list_field_steps(product: DescribedProduct, name: str) -> list[WgmmaStep]:
    operand = product.operands[name]
    word = operand.words[0]
    unread = find_unread_fields(word.mode, operand.view)
    return [
        _make_step(
            "field",
            field.title or field.name,
            caption_field(operand, word, field, unread.get(field.name, "")),
            operand=name,
            index=n,
            marks=() if field.name in unread else mark_field(operand, field.name),
        )
        for n, field in enumerate(word.format.fields)
    ]


# core matrices --------------------------------------------------------------------------------------------------------


def _make_read_step(product: DescribedProduct, name: str, number: int, move: WgmmaMove) -> WgmmaStep:
    operand = product.operands[name]
    core = _list_cores(product, name)[move.cores[0]]
    first, last, low, high = operand.get_corner(core)
    line = max(0, move.line)
    terms = explain_line(operand, core, line)
    rows = f"{'rows' if name == 'a' else 'columns'} {first}–{last}"
    takes = f"for warp {move.warp}" if name == "a" else "for all four warps"
    elements = operand.cores[core, move.line] if move.line >= 0 else operand.cores[core]
    what = _format_block(product, name, elements, operand.view.k)
    span = product.format_k(low, high)
    where = _format_terms(terms)
    xored = f", and the XOR with {terms.xor} makes `{format_address(terms.address)}`" if terms.xor else ""
    wrong = _caption_wrong_elements(product, name, elements, 0)
    if move.line >= 0:
        begins = f"Line {line} of the core matrix of {rows} and k {span}: {where}{xored}."
        gives = (
            f" These are the 16 bytes of {what}, {takes}." if not wrong else f" The 16 bytes there are read {takes}."
        )
        return _make_step("line", f"core matrix 1 · line {line}", begins + gives + wrong, name, number, warp=move.warp)
    fresh = name == "a" and (low == 0 and first % WARP_ROWS == 0)
    begins = f"Warp {move.warp} takes rows {first}–{first + WARP_ROWS - 1} of A. " if fresh else ""
    text = f"{begins}The core matrix of {rows} and k {span} begins at {where}{xored}"
    gives = f": its 8 lines are {what}, {takes}." if not wrong else f"; its 8 lines are read {takes}."
    at = f"warp {move.warp} · core matrix {move.cores[0] + 1}" if name == "a" else f"core matrix {move.cores[0] + 1}"
    return _make_step("core", at, text + gives + wrong, name, number, warp=move.warp)


def _format_terms(terms: AddressTerms) -> str:
    parts = [f"start `{format_address(terms.start)}`"]
    parts += [f"{count} × {name}" for count, name in ((terms.lbos, "LBO"), (terms.sbos, "SBO")) if count]
    parts += [str(terms.inside)] if terms.inside else []
    return " + ".join(parts) + (f" = `{format_address(terms.before)}`" if len(parts) > 1 else "")


def _format_block(product: DescribedProduct, name: str, elements: Any, k: int) -> str:
    """Return the elements of a block as in the matrix: A[m][k], B[k][n]."""
    mn, along = np.divmod(np.asarray(elements).ravel(), k)
    inside = (along[:, None] * product.per + np.arange(product.per)).ravel()
    spans = [format_span(mn.tolist()), format_span(inside.tolist())]
    row, col = spans if name == "a" else spans[::-1]
    return f"{name.upper()}[{row}][{col}]"


def _caption_wrong_elements(product: DescribedProduct, name: str, elements: Any, step: int) -> str:
    """Return a sentence about the elements of a K step that are read from elsewhere, and what the first of them
    gets.
    """
    operand = product.operands[name]
    mn, k = np.divmod(np.asarray(elements).ravel(), operand.view.k)
    got, expected = product.sources[name][step, mn, k], operand.get_expected()[step, mn, k]
    wrong = np.flatnonzero(got != expected)
    if not len(wrong):
        return ""
    at = wrong[0]
    count = (
        f"{product.per * len(wrong)} of {product.per * len(got)} elements are wrong"
        if len(wrong) < len(got)
        else "All of them are wrong"
    )
    return (
        f" ✗ {count}: {name_source(product, name, int(expected[at]))} should arrive,"
        f" {name_source(product, name, int(got[at]))} arrives."
    )


def name_source(product: DescribedProduct, name: str, source: int) -> str:
    """Return the name of the element that is read; −1 means none, −2 − n element n of the other operand."""
    if source == -1:
        return "no element"
    if source < -1:
        name, source = ("b" if name == "a" else "a"), -2 - source
    mn, k = divmod(source, product.operands[name].side.k)
    return product.name_cell(name, mn, k)


# K --------------------------------------------------------------------------------------------------------------------


def _make_k_step(product: DescribedProduct, number: int) -> WgmmaStep:
    first, end = product.groups[number]
    i = product.instruction
    span, step = product.format_k(first, end - 1), first // product.k
    size, products = f"{i.sizes['m']} × {i.sizes['n']}", (end - first) * product.per
    count = format_count(products, "product")
    if i.operands["a"].sparsity:
        count = "the product of each element that the metadata put there"
    text = f"k = {span}: columns {span} of A times rows {span} of B add {count} to each of the {size} elements of D."
    if products == 1:
        text = f"k = {span}: column {span} of A times row {span} of B adds {count} to each of the {size} elements of D."
    if i.types["a"] == "b1":
        text = (
            f"k = {span}: columns {span} of A and rows {span} of B are ANDed bit by bit, and each of the {size}"
            f" elements of D gains how many of the {products} results are 1."
        )
    if number == 0:
        text += (
            " Each warp makes its own 16 rows. The hardware adds in an order of its own, this page in the order of k."
        )
    elif step:
        text += f" D of K step {step - 1} is where this `wgmma` begins."
    return _make_step(
        "k", f"k = {span} of {product.format_k(0, product.k_steps * product.k - 1)}", text, index=number, k_step=step
    )


def _make_advance_step(product: DescribedProduct, step: int) -> WgmmaStep:
    parts: list[str] = []
    same = True
    for name, operand in product.operands.items():
        before, now = operand.words[step - 1], operand.words[step]
        on = now.start_address - before.start_address
        same = same and before.replace(start_address_encoded=0) == now.replace(start_address_encoded=0)
        start = f"{on} bytes to `{format_address(now.start_address)}` ({on // 16:+d} in the field)"
        parts.append(f"{name.upper()}’s {start}" if parts else f"{name.upper()}’s start address advances {start}")
    rest = "; the other fields stay as they are" if same else "; other fields change, too"
    text = f"The next `wgmma` takes K step {step}. {', '.join(parts)}{rest}."
    if product.register_operand:
        text += f" {caption_next_step(product.register_operand, step)}."
    return _make_step(
        "advance", f"K step {step} · descriptor{'s' * (len(product.operands) > 1)}", text, index=step, k_step=step
    )


def _make_whole_read_step(product: DescribedProduct, step: int) -> WgmmaStep:
    span = product.format_k(step * product.k, (step + 1) * product.k - 1)
    text = (
        f"All core matrices of K step {step} are read the same way: k {span} of A, 16 rows per warp, and of B, for all."
        if "a" in product.operands
        else f"All core matrices of K step {step} are read the same way: k {span} of B, for all four warps."
    )
    for name, operand in product.operands.items():
        elements = np.arange(operand.side.mn * operand.view.k)
        text += _caption_wrong_elements(product, name, elements, step)
    return _make_step("read", f"K step {step} · core matrices", text, index=step, k_step=step)


# D --------------------------------------------------------------------------------------------------------------------


def _list_out_steps(product: DescribedProduct) -> list[WgmmaStep]:
    d, steps = product.instruction.operands["d"], []
    last = product.k_steps - 1
    for warp in range(d.threads // 32):
        rows = d.rows[32 * warp : 32 * warp + 32]
        thread = 32 * warp
        values = [
            v for v in range(d.values) if product.columns.start <= int(d.cols[thread, v]) < product.columns.start + 8
        ]
        elements = [format_element("d", int(d.rows[thread, v]), int(d.cols[thread, v])) for v in values]
        registers = sorted({d.register_of(v)[0] for v in values})
        names = f"R{format_range(registers[0], registers[-1])}"
        text = (
            f"Rows {int(rows.min())}–{int(rows.max())} of D are in warp {warp}, threads {thread}–{thread + 31}:"
            f" thread {thread} holds {', '.join(elements[:-1])} and {elements[-1]} in {names}"
        )
        text += ", the next 8 columns in the registers that follow." if product.n > 8 else "."
        steps.append(_make_step("out", f"warp {warp}", text, "d", warp, warp=warp, k_step=last))
    done = (
        f"No value had to move: these {d.registers} registers of each thread were the accumulators of every K step, and"
        " after `wgmma.wait_group` the threads may read them."
    )
    return [*steps, _make_step("done", "accumulators", done, "d", k_step=last)]
