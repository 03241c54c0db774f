"""Amounts that are right for another tile: the other order of atoms, one instruction's size, other elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lanescope.descriptor.alternatives import AlternativeStorage, list_misread_storages
from lanescope.descriptor.case import (
    NAMES,
    Amounts,
    DiagnosisCase,
    FieldMistake,
    count_bytes,
    format_bytes,
    list_field_names,
    list_subsets,
)
from lanescope.descriptor.repair import compute_expected_reads, find_repairs
from lanescope.descriptor.starts import describe_possible_steps
from lanescope.errors import LayoutError
from lanescope.inputs import capitalize_sentence, join_words
from lanescope.ptx.table.descriptors import LBO, SBO, START


def list_mistakes_of_other_tiles(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield amounts for a tile with the other order of atoms, or with the size of one instruction."""
    for alternative in list_misread_storages(case.stored, case.view):
        amounts = _get_differing_amounts(case, alternative)
        choices: list[tuple[str, ...]] = [tuple(amounts)] if amounts else []
        if alternative.code != "atom_order":
            choices += [(name,) for name in amounts if len(amounts) > 1]
        for names in choices:
            wrong = {name: amounts[name] for name in names}
            message = (
                f"{capitalize_sentence(list_field_names(wrong))} {'is' if len(wrong) == 1 else 'are'} right for"
                f" {alternative.description}. {describe_required_fields(case, wrong)}"
            )
            yield FieldMistake(alternative.code, message, wrong, 1.0 if len(names) == len(amounts) else 1.2)


def _get_differing_amounts(case: DiagnosisCase, alternative: AlternativeStorage) -> dict[str, int]:
    """Return the amounts that are read and differ in the right word of another storage."""
    expected = compute_expected_reads(alternative.stored, case.view, case.mn, case.k)
    words = find_repairs(expected, case.view, case.right, case.stored.swizzle_by == "address")
    closest = next((word for word in words if word.mode is case.mode), case.right)
    values = {START.name: closest.start_address, LBO.name: closest.lbo_bytes, SBO.name: closest.sbo_bytes}
    return {name: value for name, value in values.items() if value != case.right_amounts[name]}


def list_mistakes_of_element_size(case: DiagnosisCase) -> Iterator[FieldMistake]:
    """Yield amounts for elements of another size: scaled strides, and the K step."""
    view = case.view
    name = "start_address"
    for size in (1, 2, 4):
        bits = 8 * size
        if bits == view.bits or view.bits % 8:
            continue
        scaled = {n: case.right_amounts[n] * bits // view.bits for n in ("lbo", "sbo") if n in case.read_fields}
        starts = {name: case.get_start(case.mn, 0) + case.k * size} if case.k else {}
        of = f"for elements of {format_bytes(size)}; these have {count_bytes(1, view)}"
        for names in list_subsets((*scaled, *starts)):
            wrong: dict[str, int] = {n: v for n, v in (scaled | starts).items() if n in names}
            message = (
                f"{capitalize_sentence(list_field_names(wrong))} would be right {of}."
                f" {describe_required_fields(case, wrong)}"
            )
            if names == (name,):
                message = describe_possible_steps(case, starts[name]) or message
            yield FieldMistake(
                "element_size",
                message,
                wrong,
                1.3 if len(wrong) > 1 or name in wrong else 1.5 if "sbo" in wrong else 2.2,
            )
        yield from _list_mistakes_of_resized_tile(case, bits, of)


def _list_mistakes_of_resized_tile(case: DiagnosisCase, bits: int, of: str) -> Iterator[FieldMistake]:
    """Yield the right word of a canonical tile with the same number of elements of another size."""
    tile = case.stored.tile
    if not tile:
        return
    try:
        resized = replace(tile, element_bits=bits)
        word = resized.descriptor(case.mn, case.k)
    except LayoutError:
        return
    values = {START.name: word.start_address, LBO.name: word.lbo_bytes, SBO.name: word.sbo_bytes}
    wrong = {n: v for n, v in values.items() if n in case.read_fields and v != case.right_amounts[n]}
    if wrong:
        message = (
            f"{capitalize_sentence(list_field_names(wrong))} would be right {of}."
            f" {describe_required_fields(case, wrong)}"
        )
        yield FieldMistake("element_size", message, wrong, 1.3)


def describe_required_fields(case: DiagnosisCase, wrong: Amounts) -> str:
    """Return a sentence with the amounts that are right for this tile."""
    parts = [
        f"the start {case.right_amounts[n]:#x}"
        if n == "start_address"
        else f"{NAMES[n]} {format_bytes(case.right_amounts[n])}"
        for n in NAMES
        if n in wrong
    ]
    return f"Here {join_words(parts)} {'is' if len(parts) == 1 else 'are'} right."
