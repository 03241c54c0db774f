"""Apply the known mistakes of the start address: the address itself, steps along K, M or N, another slice's start."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.descriptor.case import DiagnosisCase, FieldMistake, count_bytes, format_bytes
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import START

NAME = "start_address"
K_OF_TYPES = (8, 16, 32)  # K of one dense wgmma: tf32, 16-bit, 8-bit


def list_start_mistakes(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield all known wrong starts for this slice, the likelier of two equal ones first."""
    if case.k:
        yield from _list_wrong_k_steps(case)
    if case.mn:
        yield from _list_wrong_mn_steps(case)
    yield from _list_wrong_addresses(case)
    yield from _list_starts_of_other_slices(case)


def _list_wrong_addresses(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield mistakes in the address that do not depend on the slice."""
    start = case.right_amounts[NAME]
    if case.stored.base:
        message = (
            f"The start is relative to the tile. Add the tile's address, {case.stored.base:#x}: the start is"
            f" {start:#x}."
        )
        yield FieldMistake("start_wrong", message, {NAME: start - case.stored.base}, 1.5)
    address = case.form.get_field(NAME)
    cut = start & address.most
    message = (
        f"The start is {cut:#x}, which is {start:#x} truncated to {address.width} bits before the shift. Mask with"
        f" 0x{address.mask:X}, then shift right by 4."
    )
    yield FieldMistake("start_wrong", message, {NAME: cut}, 1.5)
    if start > START.mask:
        message = (
            f"The start is {start & START.mask:#x}, which is {start:#x} masked with 0x{START.mask:X}. The start of"
            f" {case.form.target} has {address.width} bits: mask with 0x{address.mask:X}."
        )
        yield FieldMistake("start_wrong", message, {NAME: start & START.mask}, 1.0)
    first = int(case.expected[0, 0])
    message = (
        f"The start is the address of the first element after the XOR, {first:#x}. The hardware applies the XOR"
        f" itself: use the address before it, {start:#x}."
    )
    yield FieldMistake("start_wrong", message, {NAME: first}, 1.35)


def _list_wrong_k_steps(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield mistakes in the step along K: missing, in the wrong unit, past an atom's edge, of another K or panel."""
    start, view, k = case.right_amounts[NAME], case.view, case.k
    first = case.get_start(case.mn, 0)
    step, along = start - first, count_bytes(k, view)
    right = f"The slice at k = {k} begins {format_bytes(step)} after the one at k = 0, at {start:#x}."
    missing = f"The start does not move with K: it is that of k = 0. {right} Add {step >> 4:#x} to the low word."
    yield FieldMistake("k_step_missing", missing, {NAME: first}, 0.9)
    units = f"was added to the encoded start, which is in units of 16 bytes. {right} Add {step >> 4:#x}."

    def make_mistake(code: str, message: str, start: int, cost: float) -> FieldMistake:
        return FieldMistake(code, describe_possible_steps(case, start) or message, {NAME: start}, cost)

    for amount, cost in ((step, 1.1), (along, 1.1 if view.major == "K" else 1.5)):
        yield make_mistake(
            "k_step_not_shifted", f"The K step in bytes, {amount:#x}, {units}", first + 16 * amount, cost
        )
    if along != k:
        message = f"The K step was counted in elements ({k}), not in bytes. {right}"
        yield make_mistake("k_step_in_elements", message, first + k, 1.0)
        yield make_mistake("k_step_in_elements", f"The K step in elements, {k}, {units}", first + 16 * k, 1.0)
    if along != step:
        moves = f"The start moves {format_bytes(along)} for the step along K"
        edge = case.edge
        if view.major == "MN":
            message = f"{moves}, as in a K-major tile. Here M/N is contiguous, so this is a step along M/N. {right}"
        elif case.mode.chunks > 1:
            what = f"atom of {edge}" if edge == case.mode.width_bytes else f"row of {edge}"
            message = f"{moves}, past the edge of {'an' if what.startswith('atom') else 'a'} {what} bytes. {right}"
        else:
            message = f"{moves}, past the edge of a core matrix, 16 bytes along K. {right}"
        yield FieldMistake("k_advance_past_atom", message, {NAME: first + along}, 1.0)
    yield from _list_k_steps_of_other_instructions(case, first, right)
    yield from _list_wrong_panel_steps(case, first, right)


def _list_k_steps_of_other_instructions(case: DiagnosisCase, first: int, right: str) -> Iterator[FieldMistake]:
    """Yield the K step of an instruction with another K."""
    for other in K_OF_TYPES:
        moved = count_bytes(case.k // case.view.k * other, case.view)
        if other == case.view.k or case.k % case.view.k or moved % 16 or first + moved == case.right_amounts[NAME]:
            continue
        message = (
            f"The K step is {other} elements ({format_bytes(count_bytes(other, case.view))}) per instruction, as for"
            f" another type; this one has K = {case.view.k} ({format_bytes(count_bytes(case.view.k, case.view))})."
            f" {right}"
        )
        message = describe_possible_steps(case, first + moved) or message
        yield FieldMistake(
            "element_size", message, {NAME: first + moved}, 2.1 if case.is_loop_slice(first + moved) else 1.2
        )


def describe_possible_steps(case: DiagnosisCase, start: int) -> str:
    """Return a sentence with all possible mistakes behind a wrong K step if there are several; else ""."""
    view, k = case.view, case.k
    first = case.get_start(case.mn, 0)
    step, along = case.right_amounts[NAME] - first, count_bytes(k, view)
    ways: dict[str, int] = {}
    if along != k:
        ways[f"a number of elements ({k}) instead of bytes"] = k
        ways[f"a number of elements ({k}) added to the encoded start, which has units of 16 bytes"] = 16 * k
        if along == step:
            ways["a number of bytes added to a pointer, which scales it again"] = along * view.bits // 8
    for amount in (step, along):
        ways[f"a number of bytes, {amount:#x}, added to the encoded start, which has units of 16 bytes"] = 16 * amount
    for bits in (8, 16, 32):
        if bits != view.bits >= 8:
            ways[f"that of elements of {bits // 8} byte{'s' if bits > 8 else ''}"] = k * bits // 8
    for other in K_OF_TYPES:
        if other != view.k and not k % view.k:
            amount = count_bytes(k // view.k * other, view)
            ways[f"that of an instruction with K = {other}"] = amount
    fitting = [way for way, moved in ways.items() if first + moved == start]
    if len(fitting) < 2:
        return ""
    return (
        f"The start moves {format_bytes(start - first)} for the step along K. The step may be"
        f" {join_words(fitting, 'or')}. The"
        f" slice at k = {k} begins {format_bytes(step)} after the one at k = 0, at {case.right_amounts[NAME]:#x}."
    )


def _list_wrong_panel_steps(case: DiagnosisCase, first: int, right: str) -> Iterator[FieldMistake]:
    """Yield starts with a panel step that differs from the tile's, for a slice in a later panel of atoms along K."""
    view, wide = case.view, case.atom[1]
    count, inside = divmod(case.k, wide)
    if not count:
        return
    inner = case.get_start(case.mn, inside) - first
    panel = (case.right_amounts[NAME] - first - inner) // count
    lines = case.atom[0] if view.major == "K" else 8
    instruction = -(-view.rows // lines) * lines * case.mode.width_bytes if view.major == "K" else 0
    if instruction and instruction != panel:
        message = (
            f"The start steps over panels of {view.rows} rows ({format_bytes(instruction)}), as many as the"
            f" instruction reads. The tile's panels along K are {format_bytes(panel)} apart. {right}"
        )
        yield FieldMistake("panel_stride_from_instruction", message, {NAME: first + count * instruction + inner}, 1.0)
    moved = case.actual_amounts[NAME] - first - inner
    if (
        moved > 0
        and moved % count == 0
        and (moved // count) % (8 * case.mode.width_bytes) == 0
        and moved // count != panel
    ):
        message = (
            f"The start steps over panels of {format_bytes(moved // count)}. The tile's panels along K are"
            f" {format_bytes(panel)} apart. {right}"
        )
        along_k = case.slices.get(case.actual_amounts[NAME], (-1, -1))[0] == case.mn
        yield FieldMistake(
            "panel_stride_wrong", message, {NAME: case.actual_amounts[NAME]}, 2.6 if along_k else 1.7, copied=True
        )


def _list_wrong_mn_steps(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield mistakes in the step along M or N."""
    start, view, mn = case.right_amounts[NAME], case.view, case.mn
    first = case.get_start(0, case.k)
    step = start - first
    right = f"The slice at mn = {mn} begins {format_bytes(step)} after the one at mn = 0, at {start:#x}."
    message = f"The start does not move with M or N: it is that of mn = 0. {right} Add {step >> 4:#x} to the low word."
    yield FieldMistake("other_slice", message, {NAME: first}, 1.2)
    message = (
        f"The step along M/N in bytes, {step:#x}, was added to the encoded start, which is in units of 16 bytes."
        f" {right} Add {step >> 4:#x}."
    )
    yield FieldMistake("start_wrong", message, {NAME: first + 16 * step}, 1.2)
    counted = step * 8 // max(view.bits, 8)
    if counted != step:
        code, cost = ("other_slice", 1.3) if first + counted in case.slices else ("start_wrong", 1.2)
        message = f"The step along M/N was counted in elements ({counted}), not in bytes. {right}"
        yield FieldMistake(code, message, {NAME: first + counted}, cost)
    if view.major == "K":
        return
    along = count_bytes(mn, view)
    edge = f"past the edge of an atom of {case.atom[0]} elements" if mn >= case.atom[0] else "as in a row of the tile"
    message = f"The start moves {format_bytes(along)} along M/N, {edge}. {right}"
    yield FieldMistake("panel_stride_wrong", message, {NAME: first + along}, 1.5)
    moved, count = case.actual_amounts[NAME] - first, mn // case.atom[0]
    if count and case.mode.chunks > 1 and moved > 0 and moved % (count * case.mode.pattern_bytes) == 0:
        message = (
            f"The start steps over panels of {format_bytes(moved // count)}. The tile's panels along M/N are"
            f" {format_bytes(step // count)} apart. {right}"
        )
        yield FieldMistake(
            "panel_stride_wrong",
            message,
            {NAME: case.actual_amounts[NAME]},
            2.6 if case.is_loop_slice(case.actual_amounts[NAME]) else 1.7,
            copied=True,
        )


def _list_starts_of_other_slices(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield the program's start if it is that of another slice of the tile."""
    actual = case.actual_amounts[NAME]
    origin = case.slices.get(actual)
    if not origin or origin == (case.mn, case.k):
        return
    mn, k = origin
    message = (
        f"The start is that of the slice at mn = {mn}, k = {k}. The slice at mn = {case.mn}, k = {case.k} begins at"
        f" {case.right_amounts[NAME]:#x}."
    )
    if k % case.view.k:
        message += f" The K of an instruction is {case.view.k}."
    likely = case.is_loop_slice(actual) or (mn == case.mn and 2 * k == case.k)
    yield FieldMistake("other_slice", message, {NAME: actual}, 1.4 if likely else 2.0, copied=True)
