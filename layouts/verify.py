"""Does a descriptor read a tile the way the program stored it? If not, by what name is the mistake known, and what repairs it.

The repair search is exact: for each swizzle mode and base offset the XOR is taken off the wanted addresses, and what is left either
is the affine walk of the model, which then names start, LBO and SBO, or is none. Among all that verify, the one that changes the
fewest fields is offered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from layouts.descriptor import FIELDS, LBO, SBO, START, Addresses, Descriptor, View, reads
from layouts.errors import LayoutError
from layouts.storage import Storage
from layouts.swizzle import MODES, Mode

_NAMES = {f.name: f for f in FIELDS}


@dataclass(frozen=True)
class Diagnosis:
    """One named cause; fix is the descriptor that verifies, None where a descriptor alone cannot help."""

    code: str
    message: str
    fix: Descriptor | None = None
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The result: both maps, how many elements agree, the first that does not, and the diagnoses, likeliest first."""

    read: Addresses
    expected: Addresses
    diagnoses: tuple[Diagnosis, ...]

    @property
    def matched(self) -> int:
        return int((self.read == self.expected).sum())

    @property
    def total(self) -> int:
        return int(self.read.size)

    @property
    def match(self) -> bool:
        return self.matched == self.total

    @property
    def first_mismatch(self) -> dict[str, int] | None:
        wrong = np.argwhere(self.read != self.expected)
        if not len(wrong):
            return None
        row, k = (int(n) for n in wrong[0])
        return {"row": row, "k": k, "read": int(self.read[row, k]), "expected": int(self.expected[row, k])}


def verify(descriptor: Descriptor, seen: View, stored: Storage, mn: int = 0, k: int = 0) -> Verdict:
    """Compare reads with where the program put the slice that begins at (mn, k), and diagnose a difference."""
    for name, at, size, extent in (("mn", mn, seen.rows, stored.mn), ("k", k, seen.k, stored.k)):
        if at < 0 or (extent is not None and at + size > extent):
            raise LayoutError(
                "bad_slice",
                f"The slice {name} {at} … {at + size - 1} does not lie in the stored {extent}.",
                f"The instruction takes {size} of {name}.",
                f"slice.{name}",
            )
    rows = mn + np.arange(seen.rows, dtype=np.int64)[:, None]
    cols = k + np.arange(seen.k, dtype=np.int64)[None, :]
    expected = np.broadcast_to(np.asarray(stored.address(rows, cols), dtype=np.int64), (seen.rows, seen.k))
    read = reads(descriptor, seen)
    if np.array_equal(read, expected):
        return Verdict(read, expected, ())
    return Verdict(read, expected, tuple(_diagnose(descriptor, seen, stored, expected, read, mn, k)))


# repair ---------------------------------------------------------------------------------------------------------------------


def repairs(expected: NDArray[np.int64], seen: View, given: Descriptor) -> list[Descriptor]:
    """Every descriptor (up to fields nothing reads) that makes the hardware read `expected`, fewest changed fields first."""
    found = []
    for mode_ in MODES:
        for base_offset in range(8 if mode_.chunks > 1 else 1):
            candidate = _walk(expected, seen, given, mode_, base_offset)
            if candidate and np.array_equal(reads(candidate, seen), expected):
                found.append(candidate)
    # A program's start is the likeliest field to be right: among equally small repairs one that keeps it comes first.
    return sorted(found, key=lambda d: (len(changes(given, d)), "start_address" in changes(given, d), d.base_offset))


def _walk(expected: NDArray[np.int64], seen: View, given: Descriptor, mode_: Mode, base_offset: int) -> Descriptor | None:
    """The descriptor whose strides are those of the wanted addresses once the XOR is taken off."""
    w = mode_.chunks
    plain = expected ^ ((((expected >> 7) - base_offset) & (w - 1)) << 4)
    start = int(plain[0, 0])
    lbo, sbo = given.lbo_bytes, given.sbo_bytes
    if seen.major == "K":
        sbo = int(plain[8, 0]) - start if seen.rows > 8 else sbo
        lbo = int(plain[0, w * seen.per]) - start if seen.k > w * seen.per else lbo
    elif w == 1:
        sbo = int(plain[8, 0]) - start if seen.rows > 8 else sbo
        lbo = int(plain[0, 8]) - start if seen.k > 8 else lbo
    else:
        sbo = int(plain[0, 8]) - start if seen.k > 8 else sbo
        lbo = int(plain[8 * w, 0]) - start if seen.rows > 8 * w else lbo
    try:
        encoded = {f.name: f.encode(amount) for f, amount in ((START, start), (LBO, lbo), (SBO, sbo))}
    except LayoutError:
        return None
    encoded["base_offset"] = base_offset if w > 1 else given.base_offset
    return given.replace(**encoded, swizzle=mode_.code)


def changes(given: Descriptor, fixed: Descriptor) -> dict[str, tuple[int, int]]:
    """Field → (encoded value given, value needed), only what differs."""
    pairs = {f.name: (f.get(given.word), f.get(fixed.word)) for f in FIELDS}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


# names of mistakes ------------------------------------------------------------------------------------------------------------


def _diagnose(given: Descriptor, seen: View, stored: Storage, expected: Addresses, read: Addresses, mn: int, k: int) -> list[Diagnosis]:
    possible = repairs(expected, seen, given)
    if possible:
        best = possible[0]
        needed = changes(given, best)
        named = [Diagnosis(code, message, best, needed) for code, message in _causes(given, best, needed, seen, stored, read, mn, k)]
        return named or [Diagnosis("fields_differ", f"{_list(needed)} must change.", best, needed)]
    return _hopeless(given, seen, stored, expected, mn, k)


def _causes(
    given: Descriptor, best: Descriptor, needed: dict[str, tuple[int, int]], seen: View, stored: Storage, read: Addresses, mn: int, k: int
) -> list[tuple[str, str]]:
    """(code, message) of every known mistake that explains the change."""
    out: list[tuple[str, str]] = []
    if given.reserved and len(needed) > 1:
        out.append(
            (
                "generic_pointer",
                "Bits outside every field are set: a generic pointer was shifted in without masking. Take the shared-window address (__cvta_generic_to_shared) and mask it to 18 bits.",
            )
        )
    if _swapped(given, best, needed):
        out.append(("lbo_sbo_swapped", "LBO and SBO are exchanged."))
        return out
    for name in ("start_address", "lbo", "sbo"):
        if name in needed:
            out += _shift(name, *needed[name])
    if "swizzle" in needed:
        out.append(_mode_cause(*needed["swizzle"]))
    if "base_offset" in needed:
        out.append(_base_offset_cause(given, best, *needed["base_offset"], k))
    named = {code for code, _ in out}
    if "sbo" in needed and not named & {"bytes_not_shifted", "shifted_twice"}:
        out += _stride_cause("SBO", given.sbo_bytes, best.sbo_bytes, given, best, seen, stored)
    if "lbo" in needed and not named & {"bytes_not_shifted", "shifted_twice"}:
        out += _stride_cause("LBO", given.lbo_bytes, best.lbo_bytes, given, best, seen, stored)
    if given.mode.chunks == 1 and len(np.unique(read)) < read.size:
        out.append(
            (
                "overlapping_core_matrices",
                f"LBO {given.lbo_bytes} and SBO {given.sbo_bytes} make core matrices overlap: each takes 128 bytes of its own.",
            )
        )
    if "start_address" in needed and not any(code in ("bytes_not_shifted", "shifted_twice") for code, _ in out):
        out.append(_start_cause(given, best, seen, stored, mn, k))
    return out


def _swapped(given: Descriptor, best: Descriptor, needed: dict[str, tuple[int, int]]) -> bool:
    if not set(needed) <= {"lbo", "sbo"} or given.lbo_bytes == given.sbo_bytes:
        return False
    both = best.lbo_bytes == given.sbo_bytes and best.sbo_bytes == given.lbo_bytes
    only = set(needed)
    return (
        both
        or (only == {"sbo"} and best.sbo_bytes == given.lbo_bytes)
        or (only == {"lbo"} and best.lbo_bytes == given.sbo_bytes and best.lbo_bytes != best.sbo_bytes)
    )


def _shift(name: str, given: int, needed: int) -> list[tuple[str, str]]:
    limit = _NAMES[name].most
    if needed and given == (needed << 4) & limit:
        return [("bytes_not_shifted", f"{name} holds {given}, which is the number of bytes: shift it right by 4, to {needed}.")]
    if needed and needed >= 16 and given == needed >> 4:
        return [("shifted_twice", f"{name} holds {given}: it was shifted right by 4 twice; {needed} is right.")]
    return []


def _mode_cause(given: int, needed: int) -> tuple[str, str]:
    names = {m.code: m for m in MODES}
    if (given, needed) in ((1, 3), (3, 1)):
        return (
            "tma_swizzle_enum",
            f"Bits 62–63 hold {given}, the TMA tensor map's code of {names[needed].name}. The descriptor orders the modes the other way round: {needed}.",
        )
    return "swizzle_mode", f"The data were stored with swizzle {names[needed].name}, the descriptor says {names[given].name}."


def _base_offset_cause(given: Descriptor, best: Descriptor, had: int, needed: int, k: int) -> tuple[str, str]:
    mask = given.mode.chunks - 1
    if had and had == START.get(given.word) >> 7 & 7:
        return (
            "base_offset_from_shifted_start",
            f"Base offset {had} is bits 7–9 of the shifted field; it counts 128-byte rows, bits 7–9 of the byte address. {needed} is right.",
        )
    if had and k:
        return (
            "base_offset_as_k_advance",
            f"Base offset {had} was used to advance K. A K step moves the start alone; base offset stays {needed}.",
        )
    if not had:
        past = best.start_address % best.mode.pattern_bytes
        return (
            "base_offset_missing",
            f"The {best.mode.name} pattern of these data begins {needed & mask} rows before a {best.mode.pattern_bytes}-byte line (the start lies {past} bytes past one), "
            f"and base offset is 0: it must be {needed}.",
        )
    return "base_offset_wrong", f"Base offset is {had}; for these data it must be {needed}."


def _stride_cause(
    name: str, had: int, needed: int, given: Descriptor, best: Descriptor, seen: View, stored: Storage
) -> list[tuple[str, str]]:
    others = {m.pattern_bytes: m.name for m in MODES}
    tile = stored.tile
    atoms = -(-seen.rows // (tile.atom[0] if tile else 8))
    from_instruction = atoms * best.mode.pattern_bytes
    if tile and had == from_instruction and had != needed and tile.mn > seen.rows:
        return [
            (
                "panel_stride_from_instruction",
                f"{name} {had} is what a buffer of the instruction's {seen.rows} rows would need; the buffer has {tile.mn}, so panels are {needed} bytes apart.",
            )
        ]
    if name == "SBO" and had in others and needed % best.mode.pattern_bytes == 0 and had != best.mode.pattern_bytes and seen.major == "K":
        return [("sbo_other_width", f"SBO {had} is 8 rows of swizzle {others[had]}; with {best.mode.name} and this tile it is {needed}.")]
    return [("stride_wrong", f"{name} is {had} bytes; the data lie {needed} bytes apart.")]


def _start_cause(given: Descriptor, best: Descriptor, seen: View, stored: Storage, mn: int, k: int) -> tuple[str, str]:
    had, needed = given.start_address, best.start_address
    tile = stored.tile
    if tile and k and tile.major == "K":
        first = tile.base + int(tile.offset_before(mn, 0))
        along = k * tile.element_bits // 8
        if k >= tile.atom[1] and had == first + along:
            return (
                "k_advance_past_atom",
                f"The start was advanced by {along} bytes along K, past the edge of the atom ({tile.mode.width_bytes} bytes); the next panel begins {tile.strides[1]} bytes on: {needed}.",
            )
        panel = k // tile.atom[1] * seen.rows * tile.mode.width_bytes + along % tile.mode.width_bytes
        if had == first + panel and tile.mn > seen.rows:
            return (
                "panel_stride_from_instruction",
                f"The start steps over panels of the instruction's {seen.rows} rows; the buffer has {tile.mn} rows, so a panel is {tile.strides[1]} bytes.",
            )
    step = had - needed
    chunk = " by one 16-byte chunk" if abs(step) == 16 else ""
    return (
        "start_wrong",
        f"The start is {abs(step)} bytes {'after' if step > 0 else 'before'} the slice's first byte{': it was moved' + chunk if chunk else ''}: {needed} is right.",
    )


def _hopeless(given: Descriptor, seen: View, stored: Storage, expected: Addresses, mn: int, k: int) -> list[Diagnosis]:
    """No descriptor of this major reads these data: say why, and what proves it."""
    if seen.bits == 16:
        other = View(seen.rows, seen.k, seen.bits, "MN" if seen.major == "K" else "K")
        turned = repairs(expected, other, given)
        if turned:
            flag = "1" if other.major == "MN" else "0"
            needed = changes(given, turned[0])
            more = f" Then {_list(needed)} must change, too." if needed else ""
            message = f"The data are {other.major}-major, but the instruction reads {seen.major}-major: its transpose immediate must be {flag}.{more}"
            return [Diagnosis("wrong_transpose", message, turned[0] if needed else None, needed)]
    tile = stored.tile
    if tile and mn % tile.atom[0]:
        return [
            Diagnosis(
                "mn_offset_inside_atom",
                f"The slice begins at {mn}, inside an atom of {tile.atom[0]} along M or N. No descriptor can begin there: start at a multiple of {tile.atom[0]}, or store with a narrower swizzle.",
            )
        ]
    row, chunk, text = _broken_core(expected, seen)
    code = "row_major_not_core_matrix" if "rows of 16 bytes" in text else "not_canonical"
    where = f"Core matrix ({row // 8}, {chunk}), rows {row // 8 * 8} to {row // 8 * 8 + 7}"
    return [Diagnosis(code, f"No descriptor reads this layout. {where}: {text}")]


def _broken_core(expected: Addresses, seen: View) -> tuple[int, int, str]:
    """The first core matrix that no mode allows: (row, chunk of K, what is wrong)."""
    across = expected if seen.major == "K" else expected.T
    size = seen.bits // 8 or 1
    per = seen.per
    for row in range(0, across.shape[0], 8):
        for chunk in range(across.shape[1] // per):
            core = across[row : row + 8, chunk * per : (chunk + 1) * per]
            if not (np.diff(core, axis=1) == size).all() or (core[:, 0] % 16).any():
                return row, chunk, f"its rows are not 16 contiguous bytes on a 16-byte boundary (row {row} begins at {int(core[0, 0])})."
            steps = np.diff(core[:, 0])
            if not any(_legal_pitch(core[:, 0], m) for m in MODES):
                return (
                    row,
                    chunk,
                    f"its rows of 16 bytes are {int(steps[0])} bytes apart; mode none needs 16, and the swizzled modes 32, 64 or 128 with the XOR. Plain row-major data are readable only with a 16-byte row pitch.",
                )
    return 0, 0, "each core matrix is legal by itself, but they do not lie at constant strides."


def _legal_pitch(starts: NDArray[np.int64], mode_: Mode) -> bool:
    """Whether eight row starts are one atom's lines under some base offset."""
    for base_offset in range(mode_.chunks):
        plain = starts ^ ((((starts >> 7) - base_offset) & (mode_.chunks - 1)) << 4)
        if (np.diff(plain) == mode_.width_bytes).all():
            return True
    return False


def _list(needed: dict[str, tuple[int, int]]) -> str:
    return " and ".join(f"{name} ({had} → {want})" for name, (had, want) in needed.items()) or "nothing"
