"""Explain why no descriptor can read the data as stored, and which storage the word would read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from lanescope.descriptor.alternatives import (
    AlternativeStorage,
    is_read_exactly,
    list_canonical_tiles,
    list_restored_storages,
)
from lanescope.descriptor.case import Diagnosis, count_bytes
from lanescope.descriptor.matrix import Addresses, Descriptor, View
from lanescope.descriptor.repair import compute_expected_reads, find_repairs, list_changes
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import Mode

XOR_ALONE = ("stored_unswizzled", "stored_swizzle")  # causes where the data differs from the word only by the swizzle


class MismatchDiagnoser(Protocol):
    """Function that finds the causes of a mismatch which another word could repair."""

    def __call__(
        self, descriptor: Descriptor, view: View, stored: Storage, /, *, mn: int, k: int, expected: Addresses
    ) -> list[Diagnosis]: ...


def diagnose_unreadable(
    descriptor: Descriptor,
    view: View,
    stored: Storage,
    *,
    expected: Addresses,
    mn: int,
    k: int,
    diagnose: MismatchDiagnoser,
) -> list[Diagnosis]:
    """Return why no descriptor of this major reads the data, and which storage the word reads."""
    unreachable = (
        _check_address_bits(expected)
        or _check_chunk(view, expected, mn, k)
        or _diagnose_other_major(descriptor, view, expected)
    )
    if unreachable:
        return [unreachable]
    alternatives = [
        *list_restored_storages(stored, view, descriptor.mode),
        *list_canonical_tiles(stored, view, descriptor.mode, descriptor),
    ]
    fits = next(
        (alternative for alternative in alternatives if is_read_exactly(descriptor, view, alternative, mn, k)), None
    )
    if fits and fits.code in XOR_ALONE:
        return [Diagnosis(*_describe_xor_difference(fits, descriptor, stored), storage=dict(fits.spec))]
    inside = _check_atom(view, stored, mn)
    if inside:
        return [inside]
    diagnoses = [_explain_unreadable(view, stored, expected)]
    if fits:
        return [replace(d, storage=dict(fits.spec)) for d in diagnoses]
    if _matches_plain_rows(descriptor, view, stored, expected):
        return diagnoses
    return [*diagnoses, *_diagnose_word(descriptor, view, stored, mn, k, diagnose)]


def _check_address_bits(expected: Addresses) -> Diagnosis | None:
    """Return the diagnosis of a slice whose addresses have more bits than a descriptor's start, if any."""
    last = int(expected.max())
    if not last >> 18:
        return None
    message = (
        f"The slice reaches address {last:#x}; a descriptor's start has 18 bits, and shared memory ends before 0x40000."
    )
    return Diagnosis("not_canonical", message)


def _check_chunk(view: View, expected: Addresses, mn: int, k: int) -> Diagnosis | None:
    """Return the diagnosis of a slice that begins inside a 16-byte chunk, if any."""
    along, at = ("K", k) if view.major == "K" else ("M/N", mn)
    if not (at % view.per and int(expected[0, 0]) % 16):
        return None
    message = (
        f"The slice begins at {at} of {along}, inside a 16-byte chunk of {view.per} elements. A descriptor's start"
        f" is a multiple of 16 bytes: begin at a multiple of {view.per}."
    )
    return Diagnosis("not_canonical", message)


def _matches_plain_rows(descriptor: Descriptor, view: View, stored: Storage, expected: Addresses) -> bool:
    """Return whether the strides are the best possible for plain rows: LBO 0 or 16, SBO eight rows."""
    across = expected if view.major == "K" else expected.T
    pitch = stored.pitch_bytes or abs(int(across[1, 0]) - int(across[0, 0]))
    return descriptor.lbo_bytes in (0, 16) and descriptor.sbo_bytes == 8 * pitch


def _explain_unreadable(view: View, stored: Storage, expected: Addresses) -> Diagnosis:
    """Return the property of the data that no descriptor of this major can express, as a sentence."""
    if stored.mode.chunks > 1 and stored.swizzle_by == "tile" and stored.base % 128:
        return Diagnosis("not_canonical", _describe_off_row(stored, stored.mode))
    if _find_contiguous_dimension(expected, view, stored) in ("", view.major):
        return _diagnose_storage(view, stored, expected)
    if not view.form.allows_elements(view.bits, "MN"):
        message = (
            f"The data is contiguous along M/N. {view.form.reader} reads {view.bits}-bit elements K-major only: store K"
            " contiguous."
        )
        return Diagnosis("not_canonical", message)
    other, flag = ("MN", "1") if view.major == "K" else ("K", "0")
    message = (
        f"The data is {other}-major; the instruction reads {view.major}-major. {view.form.transpose} must be {flag},"
        f" and the tile must be stored in {other}-major core matrices or swizzled atoms."
    )
    return Diagnosis("wrong_transpose", message)


def _find_contiguous_dimension(expected: Addresses, view: View, stored: Storage) -> str:
    """Return the dimension with contiguous elements; "" if there is none."""
    if major := stored.get_major(""):
        return major
    size = max(view.bits // 8, 1)
    along_k, along_mn = (bool((np.diff(expected[:8, :8], axis=axis) == size).all()) for axis in (1, 0))
    return "K" if along_k else "MN" if along_mn else ""


def _diagnose_word(
    descriptor: Descriptor, view: View, stored: Storage, mn: int, k: int, diagnose: MismatchDiagnoser
) -> list[Diagnosis]:
    """Return the mistakes of the word itself, relative to a canonical tile of its mode."""
    for alternative in list_canonical_tiles(stored, view, descriptor.mode):
        tile = alternative.stored
        if (tile.mn or 0) < mn + view.rows or (tile.k or 0) < k + view.k:
            continue
        expected_reads = compute_expected_reads(tile, view, mn, k)
        if not find_repairs(
            expected_reads, view, descriptor
        ):  # a slice that begins where no descriptor can begin in any storage
            continue
        causes = diagnose(descriptor, view, tile, mn=mn, k=k, expected=expected_reads)
        right = causes[0].fix if causes else None
        if right:
            return [
                Diagnosis(
                    c.code, f"{c.message} (This refers to {alternative.description}, with the descriptor {right}.)"
                )
                for c in causes
            ]
    return []


def _diagnose_storage(view: View, stored: Storage, expected: Addresses) -> Diagnosis:
    """Return the first place where the storage differs from every mode, and the storage to use instead."""
    pitch, width = stored.pitch_bytes, stored.mode.width_bytes
    if stored.mode.chunks > 1 and pitch and pitch != width:
        message = (
            f"No descriptor reads this layout: rows swizzled with {stored.mode.name} must be {width} bytes apart,"
            f" but they are {pitch} bytes apart. Store {width}-byte rows without padding; the swizzle already avoids"
            " bank conflicts."
        )
        return Diagnosis("not_canonical", message)
    row, chunk, text, rows_apart = _find_broken_core(expected, view)
    lines = "rows" if view.major == "K" else "k"
    message = (
        f"No descriptor reads this layout. Core matrix ({row // 8}, {chunk}), {lines} {row // 8 * 8} to"
        f" {row // 8 * 8 + 7}: {text}"
    )
    if not rows_apart or stored.mode.chunks > 1:
        return Diagnosis("not_canonical", message)
    across, along = ("row", "k") if view.major == "K" else ("k", "row")
    outer, inner = ("SBO", "LBO") if view.major == "K" else ("LBO", "SBO")
    formula = (
        f"{across} / 8 * {outer} + {along} / {view.per} * {inner} + {across} % 8 * 16 + {along} % {view.per} *"
        f" {max(view.bits // 8, 1)}"
    )
    form = view.form
    wide = [m for m in form.codes if m.chunks > 1 and m.width_bytes == pitch]
    fit = min(wide, key=lambda m: m.xor is not None, default=None)
    if fit:
        message += (
            f" Rows of {pitch} bytes are those of swizzle {fit.name}: {describe_storing(fit, True)[:-1]}, with"
            f" {form.codes[fit]} in the field {form.format_place(form.coded)} and SBO {fit.pattern_bytes}."
        )
        message += f" For mode none store element (row, k) at {formula}."
    else:
        message += (
            f" Store element (row, k) at {formula} for mode none, or store rows of 32, 64 or 128 bytes with their"
            " swizzle."
        )
    return Diagnosis("row_major_not_core_matrix", message)


def _check_atom(view: View, stored: Storage, mn: int) -> Diagnosis | None:
    """Return the diagnosis of a slice that crosses from one MN-major atom into the next, if any."""
    atom = view.per * stored.mode.chunks
    turned = view.major == "MN" and stored.mode.chunks > 1 and stored.get_major(view.major) == "MN"
    if not turned or not mn % atom or mn % view.per:
        return None
    legal = [m for m in view.form.codes if m is not stored.mode and view.form.allows_elements(view.bits, view.major, m)]
    by_size = sorted(legal, key=lambda m: -m.chunks)
    narrower = next((m for m in by_size if m.chunks * view.per < atom and not mn % (m.chunks * view.per)), None)
    if narrower is None:
        message = (
            f"The slice begins at {mn} of M/N; a slice must begin at a multiple of {view.per} in any layout, and of"
            f" {atom} in this one."
        )
        return Diagnosis("mn_offset_inside_atom", message)
    spec = _find_canonical_tile(stored, view, narrower)
    wide = narrower.chunks * view.per
    how = (
        f"swizzle {narrower.name}, whose atoms have {wide}"
        if narrower.chunks > 1
        else f"no swizzle, in core matrices of {wide}"
    )
    message = (
        f"The slice begins at {mn} of M/N, inside an atom of {atom}, and runs into the next one. Start at a multiple of"
        f" {atom}, or store the tile with {how}."
    )
    return Diagnosis("mn_offset_inside_atom", message, storage=spec)


def _describe_xor_difference(
    alternative: AlternativeStorage, descriptor: Descriptor, stored: Storage
) -> tuple[str, str]:
    """Return (code, message) for data that differ from the word only by the XOR."""
    word = descriptor.mode
    if alternative.code == "stored_unswizzled":
        return (
            alternative.code,
            (
                f"The data was stored without the XOR that swizzle {word.name} of the descriptor expects."
                f" {describe_storing(word)}"
            ),
        )
    if stored.mode is word:
        return "not_canonical", _describe_off_row(stored, word)
    if stored.spec.get("kind") == "cute" and stored.mode.chunks == 1:
        current, meant = (str(spec["layout"]).partition("o")[0].strip() for spec in (stored.spec, alternative.spec))
        message = (
            f"In the layout's units, swizzle {word.name} is {meant}, not {current}: {describe_storing(word, True)}"
        )
        return alternative.code, message
    message = (
        f"The data was stored with swizzle {stored.mode.name} in rows of a different width; the descriptor has"
        f" swizzle {word.name}. {describe_storing(word)}"
    )
    return alternative.code, message


def _describe_off_row(stored: Storage, mode: Mode) -> str:
    return (
        f"The XOR was applied to the offset from the tile's start, which is {stored.base % mode.pattern_bytes} bytes"
        f" past a {mode.pattern_bytes}-byte boundary. The base offset is in rows of 128 bytes and cannot express that."
        f" Align the tile to {mode.pattern_bytes} bytes, or apply the XOR to the shared-memory address."
    )


def _find_canonical_tile(stored: Storage, view: View, mode: Mode) -> dict[str, Any] | None:
    """Return a canonical tile of the word's mode with the same number of elements; None if there is none."""
    alternative = next(list_canonical_tiles(stored, view, mode), None)
    return dict(alternative.spec) if alternative else None


def _diagnose_other_major(descriptor: Descriptor, view: View, expected: Addresses) -> Diagnosis | None:
    """Return the diagnosis of data that the other major can read, if any."""
    other = replace(view, major="MN" if view.major == "K" else "K")
    if not view.form.allows_elements(view.bits, "MN"):
        return None
    repairs = find_repairs(expected, other, descriptor)
    if not repairs:
        return None
    needed = list_changes(descriptor, repairs[0])
    flag = "1" if other.major == "MN" else "0"
    more = f" In addition, {_format_changes(needed)} must change." if needed else ""
    message = (
        f"The data is {other.major}-major; the instruction reads {view.major}-major. {view.form.transpose} must be"
        f" {flag}.{more}"
    )
    return Diagnosis("wrong_transpose", message, repairs[0] if needed else None, needed)


def _find_broken_core(expected: Addresses, view: View) -> tuple[int, int, str, bool]:
    """Return the first core matrix that no mode allows.

    The result is (row, chunk of K, what is wrong, whether its rows are contiguous but too far apart).
    """
    across = expected if view.major == "K" else expected.T
    size = count_bytes(view.per, view) // view.per or 1
    per = view.per
    for row in range(0, across.shape[0], 8):
        for chunk in range(across.shape[1] // per):
            core = across[row : row + 8, chunk * per : (chunk + 1) * per]
            if view.bits >= 8 and (not (np.diff(core, axis=1) == size).all() or (core[:, 0] % 16).any()):
                return (
                    row,
                    chunk,
                    (
                        f"its rows are not 16 contiguous bytes on a 16-byte boundary (row {row} begins at"
                        f" {int(core[0, 0])})."
                    ),
                    False,
                )
            if not any(_is_legal_pitch(core[:, 0], m) for m in view.form.codes):
                apart = int(core[1, 0] - core[0, 0])
                message = (
                    f"its rows of 16 bytes are {apart} bytes apart; mode none needs 16, and the swizzled modes 32, 64"
                    " or 128 with the XOR."
                )
                return row, chunk, message, True
    return 0, 0, "each core matrix is legal by itself, but their strides are not constant.", False


def _is_legal_pitch(starts: Addresses, mode: Mode) -> bool:
    """Return whether eight row starts are the lines of an atom for some base offset."""
    return any((np.diff(mode.unswizzle(starts, base)) == mode.width_bytes).all() for base in range(mode.chunks))


def _format_changes(needed: dict[str, tuple[int, int]]) -> str:
    return " and ".join(f"{name} ({current} → {want})" for name, (current, want) in needed.items()) or "nothing"


def describe_storing(mode: Mode, middle: bool = False) -> str:
    if mode.chunks == 1:
        message = "store 8×8 core matrices without a swizzle."
    else:
        message = (
            f"store with {mode.swizzle()} on byte addresses (CU_TENSOR_MAP_SWIZZLE_{mode.name} in a TMA tensor map)."
        )
    return message if middle else message[:1].upper() + message[1:]
