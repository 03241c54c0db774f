"""Apply the known mistakes of programs to the right descriptor: strides, mode and base offset.

A `FieldMistake` is a wrong amount in one or more fields; layouts/descriptor/starts.py has those of the start,
layouts/descriptor/other_tiles.py those that are right for another tile. layouts/descriptor/diagnosis.py finds the field
mistakes, and the packing mistakes of layouts/descriptor/packing.py, that give exactly the program's word. The list
comes from public code and threads (CUTLASS, DeepGEMM, ThunderKittens, fast.cu, forum posts) and from the read model
measured on an H100 (layouts/descriptor/matrix.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.descriptor.case import DiagnosisCase, FieldMistake, count_bytes, format_bytes, list_field_names
from lanescope.descriptor.other_tiles import (
    describe_required_fields,
    list_mistakes_of_element_size,
    list_mistakes_of_other_tiles,
)
from lanescope.descriptor.starts import list_start_mistakes
from lanescope.inputs import capitalize_sentence
from lanescope.ptx.table.descriptors import WGMMA


def list_field_mistakes(case: DiagnosisCase) -> list[FieldMistake]:
    """Return all known mistakes for this storage and slice, the likelier of two with equal amounts first."""
    return [
        *_list_wrong_constants(case),
        *_list_exchanged_strides(case),
        *list_start_mistakes(case),
        *_list_wrong_strides(case),
        *_list_wrong_modes(case),
        *_list_wrong_base_offsets(case),
        *list_mistakes_of_other_tiles(case),
        *list_mistakes_of_element_size(case),
    ]


NO_VERSION = (
    "Bits 46 to 48 are 0: this is a wgmma descriptor. tcgen05 needs version 1 there: add 1ull << 46. The modes"
    " none, 32B, 64B and 128B have the same bits in both formats."
)


def _list_wrong_constants(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield a wrong constant field: tcgen05's version, which a wgmma descriptor lacks."""
    for name, value in case.form.constants.items():
        yield FieldMistake("wgmma_format", NO_VERSION, {name: 0}, 0.7)
        actual = case.actual_amounts[name]
        if actual not in (0, value):
            message = (
                f"The version in {case.form.format_place(name)} is {actual}; it is {value} in every tcgen05 descriptor."
            )
            yield FieldMistake("version_wrong", message, {name: actual}, 1.0, copied=True)


def _list_exchanged_strides(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield LBO and SBO exchanged.

    If one of them is not read, only its usual value proves the exchange.
    """
    needed, (mn, k), first = case.right_amounts, case.atom, case.get_start(0, 0)
    to_mn, to_k = case.get_start(mn, 0) - first, case.get_start(0, k) - first
    lbo, sbo = (to_k, to_mn) if case.view.major == "K" or case.mode.chunks == 1 else (to_mn, to_k)
    usual = {"lbo": {0, 16, lbo}, "sbo": {0, case.mode.pattern_bytes, sbo}}
    for lbo in [needed["lbo"]] if "lbo" in case.read_fields else usual["lbo"]:
        for sbo in [needed["sbo"]] if "sbo" in case.read_fields else usual["sbo"]:
            amounts = {name: value for name, value in (("lbo", sbo), ("sbo", lbo)) if name in case.read_fields}
            if amounts and lbo != sbo:
                message = f"LBO and SBO are exchanged: {describe_required_strides(case, lbo, sbo)}."
                usual_lbo = "lbo" in case.read_fields or case.view.major == "MN" or lbo in (0, 16)
                yield FieldMistake(
                    "lbo_sbo_swapped", message, amounts, 0.9 if usual_lbo else 1.1, {"lbo": sbo, "sbo": lbo}
                )


def describe_required_strides(case: DiagnosisCase, lbo_bytes: int, sbo_bytes: int) -> str:
    """Return a clause with the required LBO and SBO, or with the information that one of them is not read."""
    if "lbo" not in case.read_fields:
        return f"SBO must be {format_bytes(sbo_bytes)}; LBO is not read here"
    if "sbo" not in case.read_fields:
        return f"LBO must be {format_bytes(lbo_bytes)}; SBO is not read here"
    return f"LBO must be {format_bytes(lbo_bytes)} and SBO {format_bytes(sbo_bytes)}"


def _list_wrong_strides(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield wrong SBO and LBO, alone, then together."""
    if "sbo" in case.read_fields:
        yield from _list_zero_sbo(case)
        yield from _list_sbo_of_one_row(case)
        yield from _list_sbo_of_other_width(case)
    if "lbo" in case.read_fields:
        yield from _list_usual_lbo(case)
        yield from _list_lbo_of_other_tile(case)
    yield from _list_strides_of_atoms_side_by_side(case)
    yield from _list_strides_of_other_core_order(case)


def _name_lines(case: DiagnosisCase) -> str:
    """Return the name of the tile's lines; SBO is the distance from one line to the eighth after it."""
    return "rows of M or N" if case.view.major == "K" or case.mode.chunks == 1 else "values of K"


def _list_zero_sbo(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield an SBO that was omitted, or lost in a shift."""
    sbo = case.right_amounts["sbo"]
    lost = "" if case.computed else ": it was left out, or shifted by 32 as a 32-bit integer"
    message = (
        f"SBO is 0{lost}. It is the distance between groups of 8 {_name_lines(case)}: (uint64_t)({sbo} >> 4) << 32."
    )
    if sbo:
        yield FieldMistake("stride_wrong", message, {"sbo": 0}, 1.6)


def _list_sbo_of_one_row(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield an SBO with the pitch of one row instead of eight."""
    sbo = case.right_amounts["sbo"]
    across = count_bytes(case.extents[case.view.major == "K"], case.view)
    for pitch, cost in ((case.line_bytes, 1.0), (case.stored.pitch_bytes, 1.0), (across, 1.4)):
        if pitch and pitch != sbo:
            message = (
                f"SBO is {format_bytes(pitch)}, the pitch of one row. It must be the distance between groups of 8"
                f" {_name_lines(case)}: {format_bytes(sbo)}."
            )
            yield FieldMistake("sbo_is_row_pitch", message, {"sbo": pitch}, cost)


def _list_sbo_of_other_width(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield the SBO of another swizzle width."""
    sbo, mode = case.right_amounts["sbo"], case.mode
    if mode.chunks == 1 and case.view.major != "K":
        return
    how = f"with {mode.name}" if mode.bits else "without a swizzle"
    for other in case.form.codes:
        for value in dict.fromkeys((sbo * other.chunks // mode.chunks, other.pattern_bytes)):
            if value != sbo and other is not mode:
                message = (
                    f"SBO {value} is right for swizzle {other.name}. This data is stored {how}: SBO must be"
                    f" {format_bytes(sbo)}."
                )
                yield FieldMistake("sbo_other_width", message, {"sbo": value}, 1.1)


def _list_usual_lbo(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield an LBO with its usual value in modes that do not read it."""
    needed = case.right_amounts["lbo"]
    way = "along M/N" if case.view.major == "MN" and case.mode.chunks > 1 else "along K"
    for value in (0, 16):
        if needed != value:
            message = (
                f"LBO is {value}, its usual value if it is not read. Here it must be the distance {way}:"
                f" {format_bytes(needed)}."
            )
            yield FieldMistake("stride_wrong", message, {"lbo": value}, 1.0)


def _list_lbo_of_other_tile(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield the LBO of a panel of another width, or of a tile with another number of rows."""
    needed, actual, mode = case.right_amounts["lbo"], case.actual_amounts["lbo"], case.mode
    if not actual or actual == needed:
        return
    if case.view.major == "MN" and mode.chunks > 1 and not actual % mode.pattern_bytes and needed > mode.pattern_bytes:
        yield _make_lbo_of_other_panel(case)
    elif (
        case.view.major == "K"
        and case.right_amounts["sbo"] == 128
        and not actual % 128
        and not max(actual, needed) % min(actual, needed)
    ):
        message = (
            f"LBO is {format_bytes(actual)}, right for a tile of {actual // 16} rows. This one has {needed // 16}: LBO"
            f" must be {format_bytes(needed)}."
        )
        yield FieldMistake("panel_stride_wrong", message, {"lbo": actual}, 3.9 if actual == 128 else 1.45, copied=True)


def _make_lbo_of_other_panel(case: DiagnosisCase) -> FieldMistake:
    """Return the LBO of a panel with another number of lines, or of another swizzle width."""
    needed, actual, mode = case.right_amounts["lbo"], case.actual_amounts["lbo"], case.mode
    wide = [m for m in case.form.codes if m.chunks > 1]
    others = [m for m in wide if actual * mode.chunks == needed * m.chunks]
    sizes = [f"{actual // m.width_bytes} lines of {m.width_bytes} bytes" for m in (*others, mode)]
    message = (
        f"LBO is {format_bytes(actual)}, a panel of {' or of '.join(sizes)}. The tile's panels are"
        f" {format_bytes(needed)} apart along M/N."
    )
    return FieldMistake("panel_stride_wrong", message, {"lbo": actual}, 1.45 if others else 2.0, copied=True)


def _list_strides_of_atoms_side_by_side(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield strides of atoms side by side, for a tile with consecutive panels."""
    actual_amounts, atom_bytes = case.actual_amounts, 8 * case.mode.width_bytes
    count, rest = divmod(actual_amounts["sbo"], atom_bytes)
    apart = case.stored.get_number("inner_stride")
    if (
        case.mode.chunks == 1
        or rest
        or not 2 <= count <= 16
        or case.right_amounts["sbo"] != atom_bytes
        or apart <= atom_bytes
    ):
        return
    way, lines = ("K", "rows") if case.view.major == "K" else ("M/N", "values of K")
    message = (
        f"SBO {actual_amounts['sbo']} is right for {count} atoms side by side along {way}. Here the panels of"
        f" {case.mode.width_bytes} bytes are consecutive, {format_bytes(apart)} apart, and the next 8 {lines}"
        f" begin {format_bytes(atom_bytes)} further: SBO must be {format_bytes(atom_bytes)}"
    )
    yield FieldMistake(
        "atom_order", f"{message}.", {"sbo": actual_amounts["sbo"]}, 1.3 if case.view.bits > 8 else 1.6, copied=True
    )
    if "lbo" in case.read_fields:
        yield FieldMistake(
            "atom_order",
            f"{message} and LBO {format_bytes(case.right_amounts['lbo'])}.",
            {"sbo": actual_amounts["sbo"], "lbo": atom_bytes},
            1.2,
            copied=True,
        )


def _list_strides_of_other_core_order(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield strides of a dense tile of core matrices with the other dimension first.

    Canonical tiles are covered by `AlternativeStorage`.
    """
    mn, k = case.stored.mn, case.stored.k
    if case.mode.chunks > 1 or case.stored.tile or mn is None or k is None:
        return
    wide, deep = -(-mn // case.atom[0]), -(-k // case.atom[1])
    orders = {"M/N first": {"lbo": 128 * wide, "sbo": 128}, "K first": {"lbo": 128, "sbo": 128 * deep}}
    read = [name for name in ("lbo", "sbo") if name in case.read_fields]
    for (assumed, amounts), order in zip(orders.items(), reversed(orders), strict=True):
        wrong: dict[str, int] = {name: amounts[name] for name in read if amounts[name] != case.right_amounts[name]}
        if wrong and all(orders[order][name] == case.right_amounts[name] for name in read):
            message = (
                f"right for core matrices ordered {assumed}; in this tile they are ordered {order}."
                f" {describe_required_fields(case, wrong)}"
            )
            yield FieldMistake(
                "atom_order",
                f"{capitalize_sentence(list_field_names(wrong))} {'is' if len(wrong) == 1 else 'are'} {message}",
                wrong,
            )


def _list_wrong_modes(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield the code of another swizzle mode, and TMA's code of the right one."""
    mode = case.mode
    form = case.form
    right, place = form.codes[mode], form.format_place(form.coded)
    for other, code in form.codes.items():
        if other is mode:
            continue
        if code == mode.tma:
            order = "in the opposite order" if form is WGMMA else "otherwise"
            message = (
                f"The field {place} is {code}, the TMA tensor map's code of {mode.name}. The descriptor's codes are"
                f" {order}: {mode.name} is {right}."
            )
            yield FieldMistake("tma_swizzle_enum", message, {"swizzle": code}, 0.9)
        else:
            message = (
                f"The tile is stored with swizzle {mode.name}; the descriptor says {other.name}. The field {place}"
                f" must be {right}."
            )
            if form is WGMMA and code << 62 == right << 61:
                message += f" ({right} << 61 gives the same word: the mode starts at bit 62.)"
            elif not code and not case.computed:
                low = form.get_field(form.coded).low
                lost = f"{right} << {low} of a 32-bit integer is 0, (uint64_t){right} << {low} is not."
                message += f" Where they were set: {lost}"
            yield FieldMistake("swizzle_mode", message, {"swizzle": code}, 1.0)


def _list_wrong_base_offsets(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield wrong base offsets.

    The base offset is the number of 128-byte rows from the boundary to the start of the swizzle pattern; 0 for data
    swizzled by address.
    """
    if "base_offset" not in case.read_fields:
        return
    name, needed, actual, mode = (
        "base_offset",
        case.right_amounts["base_offset"],
        case.actual_amounts["base_offset"],
        case.mode,
    )
    mask, start = mode.chunks - 1, case.right_amounts["start_address"]
    by_address = case.stored.swizzle_by == "address"
    rows = f"{needed & mask} row{'' if needed & mask == 1 else 's'}"
    rule = (
        "This data is swizzled by address, so base offset stays 0 wherever the tile begins."
        if by_address
        else f"The pattern begins {rows} of 128 bytes past a {mode.pattern_bytes}-byte boundary: it must be {needed}."
    )
    if needed & mask:
        message = (
            f"The data is swizzled from the tile's start, which is {rows} of 128 bytes past a"
            f" {mode.pattern_bytes}-byte boundary. Base offset must be {needed}, not 0."
        )
        yield FieldMistake("base_offset_missing", message, {name: 0}, 1.0)
    for value in sorted({at >> 4 >> 7 & 7 for at in (start, case.actual_amounts["start_address"])}):
        if (value ^ needed) & mask:
            message = (
                f"Base offset {value} was taken from bits 7 to 9 of the encoded start. They are bits 7 to 9 of the byte"
                f" address. {rule}"
            )
            yield FieldMistake("base_offset_from_shifted_start", message, {name: value}, 1.0)
    if actual and (actual ^ needed) & mask:
        first = case.get_start(case.mn, 0)
        if first != start:
            message = (
                f"Base offset {actual} was used to step along K. A K step changes only the start, from {first:#x} to"
                f" {start:#x}; base offset stays {needed}."
            )
            yield FieldMistake(
                "base_offset_as_k_advance", message, {name: actual, "start_address": first}, 0.8, copied=True
            )
    for value in sorted({actual, start >> 7 & 7}):
        if (value ^ needed) & mask and value:
            yield FieldMistake("base_offset_wrong", f"Base offset is {value}. {rule}", {name: value}, 1.5)
