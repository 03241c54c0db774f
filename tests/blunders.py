"""Programs that build a wgmma descriptor wrongly: many tiles, each with every known mistake, packed by this file's own arithmetic.

Nothing here asks the engine what a right or a wrong word is; only the instruction texts are shared. `make diagnoses` prints what the
verifier says of them into docs/diagnoses.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from app import memory

MASK = (1 << 64) - 1
WIDTH = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
CODE = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
TMA = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
TYPES = {"f32.f16.f16": (16, 16), "f32.bf16.bf16": (16, 16), "f32.tf32.tf32": (32, 8), "s32.s8.s8": (8, 32), "f32.e4m3.e5m2": (8, 32)}


@dataclass(frozen=True)
class Program:
    """A program that gets everything right: what it puts into the fields (bytes) for one slice of one tile."""

    types: str
    n: int
    operand: str
    major: str
    swizzle: str
    mn: int
    k: int
    order: str
    base: int
    at_mn: int
    at_k: int
    kind: str
    start: int = 0
    lbo: int = 0
    sbo: int = 0
    base_offset: int = 0
    code: int = 0

    @property
    def bits(self) -> int:
        return TYPES[self.types][0]

    @property
    def rows(self) -> int:
        return 64 if self.operand == "a" else self.n

    @property
    def instruction(self) -> str:
        d = "wgmma.mma_async.sync.aligned.m64n{}k{}.{}"
        return d.format(self.n, TYPES[self.types][1], self.types)

    @property
    def size(self) -> int:
        return self.bits // 8

    @property
    def wide(self) -> int:
        """Elements across an atom along the contiguous dimension."""
        return WIDTH[self.swizzle] // self.size

    @property
    def atom(self) -> int:
        return 8 * WIDTH[self.swizzle]

    @property
    def storage(self) -> dict[str, Any]:
        if self.kind == "canonical":
            return {
                "kind": "canonical",
                "element_bits": self.bits,
                "major": self.major,
                "swizzle": self.swizzle,
                "mn": self.mn,
                "k": self.k,
                "order": self.order,
                "base": self.base,
            }
        if self.kind == "rows":
            return {"kind": "rows", "inner": self.major, "pitch_bytes": WIDTH[self.swizzle], "swizzle": self.swizzle, "base": self.base}
        outer, inner = strides(self)
        return {
            "kind": "atoms",
            "inner": self.major,
            "width_bytes": WIDTH[self.swizzle],
            "outer8_stride": outer,
            "inner_stride": inner,
            "swizzle": self.swizzle,
            "base": self.base,
        }

    def with_right_fields(self) -> Program:
        outer, inner = strides(self)
        lines, along = (self.at_mn, self.at_k) if self.major == "K" else (self.at_k, self.at_mn)
        start = self.base + lines // 8 * outer + along // self.wide * inner + along % self.wide * self.size
        if self.major == "K":
            lbo, sbo = (inner, outer) if self.swizzle == "none" else (16, outer)
        elif self.swizzle == "none":  # LBO runs along K, SBO along M/N
            lbo, sbo = outer, inner
        else:
            lbo, sbo = inner, outer
        return replace(self, start=start, lbo=lbo, sbo=sbo, code=CODE[self.swizzle])

    def ask(self, word: int, storage: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "descriptor": f"0x{word:016x}", "instruction": self.instruction, "operand": self.operand, "major": self.major,
            "storage": storage or self.storage, "slice": {"mn": self.at_mn, "k": self.at_k},
        }  # fmt: skip


def strides(p: Program) -> tuple[int, int]:
    """(bytes from 8 lines to the next 8, bytes from one atom's width to the next)."""
    lines, across = (p.mn, p.k) if p.major == "K" else (p.k, p.mn)
    many_lines, many_across = lines // 8, across // p.wide
    lines_first = (p.order == "mn") == (p.major == "K")
    return (p.atom, p.atom * many_lines) if lines_first else (p.atom * many_across, p.atom)


def pack(start: int, lbo: int, sbo: int, base_offset: int, code: int) -> int:
    return (start & 0x3FFFF) >> 4 | (lbo & 0x3FFFF) >> 4 << 16 | (sbo & 0x3FFFF) >> 4 << 32 | base_offset << 49 | code << 62


def word(p: Program) -> int:
    return pack(p.start, p.lbo, p.sbo, p.base_offset, p.code)


# the mistakes: each returns the wrong word (with the storage, where the data are at fault), or None where it does not apply ------

Wrong = int | tuple[int, dict[str, Any]] | None
BLUNDERS: list[tuple[str, str, Callable[[Program], Wrong]]] = []


def blunder(code: str) -> Callable[[Callable[[Program], Wrong]], Callable[[Program], Wrong]]:
    def keep(function: Callable[[Program], Wrong]) -> Callable[[Program], Wrong]:
        BLUNDERS.append((code, function.__name__, function))
        return function

    return keep


def first(p: Program) -> int:
    """The start of the slice at k = 0."""
    return replace(p, at_k=0).with_right_fields().start


def other(p: Program, **changes: Any) -> Program:
    return replace(p, **changes).with_right_fields()


@blunder("bytes_not_shifted")
def everything_in_bytes(p: Program) -> Wrong:
    return (p.start & 0x3FFF) | (p.lbo & 0x3FFF) << 16 | (p.sbo & 0x3FFF) << 32 | p.code << 62


@blunder("bytes_not_shifted")
def everything_in_bytes_unmasked(p: Program) -> Wrong:
    return (p.start | p.lbo << 16 | p.sbo << 32 | p.code << 62) & MASK


@blunder("bytes_not_shifted")
def strides_in_bytes(p: Program) -> Wrong:
    return pack(p.start, 0, 0, 0, p.code) | (p.lbo & 0x3FFF) << 16 | (p.sbo & 0x3FFF) << 32


@blunder("bytes_not_shifted")
def address_in_bytes(p: Program) -> Wrong:
    return pack(0, p.lbo, p.sbo, 0, p.code) | p.start & 0x3FFF


@blunder("bytes_not_shifted")
def sbo_in_bytes(p: Program) -> Wrong:
    return pack(p.start, p.lbo, 0, 0, p.code) | (p.sbo & 0x3FFF) << 32


@blunder("shifted_twice")
def address_shifted_twice(p: Program) -> Wrong:
    return pack(p.start >> 4, p.lbo, p.sbo, 0, p.code)


@blunder("shifted_twice")
def strides_shifted_twice(p: Program) -> Wrong:
    return pack(p.start, p.lbo >> 4, p.sbo >> 4, 0, p.code)


@blunder("lbo_sbo_swapped")
def strides_exchanged(p: Program) -> Wrong:
    return pack(p.start, p.sbo, p.lbo, 0, p.code)


@blunder("tma_swizzle_enum")
def tensor_map_code(p: Program) -> Wrong:
    return pack(p.start, p.lbo, p.sbo, 0, TMA[p.swizzle])


@blunder("swizzle_mode")
def mode_left_out(p: Program) -> Wrong:
    return pack(p.start, p.lbo, p.sbo, 0, 0)


@blunder("mode_at_bit_61")
def mode_a_bit_too_low(p: Program) -> Wrong:
    return pack(p.start, p.lbo, p.sbo, 0, 0) | p.code << 61


@blunder("tcgen05_format")
def blackwell_base32b(p: Program) -> Wrong:
    return pack(p.start, p.lbo, p.sbo, 0, 0) | 1 << 46 | 1 << 61 if p.swizzle == "128B" else None


@blunder("high_word_missing")
def cut_to_32_bits(p: Program) -> Wrong:
    return word(p) & 0xFFFFFFFF


@blunder("words_exchanged")
def halves_exchanged(p: Program) -> Wrong:
    return word(p) >> 32 | (word(p) & 0xFFFFFFFF) << 32


@blunder("shifts_of_32_bits")
def shifted_as_int(p: Program) -> Wrong:
    """x86 takes the count modulo 32."""
    return p.start >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 0 | p.code << 30 & 0xFFFFFFFF


@blunder("shifts_of_32_bits")
def mode_shifted_as_int(p: Program) -> Wrong:
    low = p.start >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 32
    mode = p.code << 30
    return low | (mode | MASK ^ 0xFFFFFFFF if mode >> 31 else mode)


@blunder("sign_extended")
def low_word_negative(p: Program) -> Wrong:
    return word(p) | MASK ^ 0xFFFFFFFF


@blunder("sign_extended")
def bytes_as_short(p: Program) -> Wrong:
    low = p.start & 0xFFFF
    return MASK ^ 0xFFFF | low if low >> 15 else None


@blunder("generic_pointer")
def pointer_not_masked(p: Program) -> Wrong:
    pointer = 0x7F0000000000 | (Random(p.start).getrandbits(16) << 24) | p.start
    return pointer >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 32 | p.code << 62


@blunder("sbo_is_row_pitch")
def sbo_of_one_row(p: Program) -> Wrong:
    return pack(p.start, p.lbo, WIDTH[p.swizzle], 0, p.code) if p.swizzle != "none" else None


@blunder("sbo_other_width")
def sbo_of_another_mode(p: Program) -> Wrong:
    others = [w for w in ("32B", "64B", "128B") if w != p.swizzle]
    outer = strides(p)[0]
    if p.swizzle == "none" or p.major != "K" or outer != p.atom:
        return None
    return pack(p.start, p.lbo, 8 * WIDTH[others[p.n // 8 % len(others)]], 0, p.code)


@blunder("element_size")
def fp32_for_narrower(p: Program) -> Wrong:
    """Everything in elements times four."""
    if p.bits == 32 or not p.at_k or p.major != "K" or p.swizzle == "none" or p.at_k % p.wide * 4 >= WIDTH[p.swizzle] or p.at_k >= p.wide:
        return None
    return pack(p.base + p.at_mn // 8 * strides(p)[0] + p.at_k * 4, p.lbo, p.sbo, 0, p.code)


@blunder("atom_order")
def atoms_the_other_way(p: Program) -> Wrong:
    if p.kind != "canonical":
        return None
    wrong = other(p, order="k" if p.order == "mn" else "mn")
    return word(wrong)


@blunder("k_step_missing")
def k_not_advanced(p: Program) -> Wrong:
    return pack(first(p), p.lbo, p.sbo, 0, p.code) if p.at_k else None


@blunder("k_step_in_elements")
def k_in_elements(p: Program) -> Wrong:
    return pack(first(p) + p.at_k, p.lbo, p.sbo, 0, p.code) if p.at_k and p.bits == 16 else None


@blunder("k_step_not_shifted")
def k_bytes_on_the_field(p: Program) -> Wrong:
    if not p.at_k:
        return None
    return pack(first(p), p.lbo, p.sbo, 0, p.code) + (p.start - first(p))


@blunder("k_advance_past_atom")
def k_straight_on(p: Program) -> Wrong:
    if not p.at_k:
        return None
    return pack(first(p) + p.at_k * p.size, p.lbo, p.sbo, 0, p.code)


@blunder("panel_stride_from_instruction")
def panel_of_the_instruction(p: Program) -> Wrong:
    if p.major != "K" or p.order != "mn" or p.at_k < p.wide or p.rows >= p.mn or p.swizzle == "none":
        return None
    return word(other(p, mn=p.rows, base=p.base)) if not p.at_mn else None


@blunder("panel_stride_wrong")
def panel_twice_as_far(p: Program) -> Wrong:
    if p.major != "K" or p.at_k < p.wide or p.swizzle == "none" or p.order != "mn":
        return None
    panels = p.at_k // p.wide
    return pack(p.start + panels * 3 * p.atom, p.lbo, p.sbo, 0, p.code)


@blunder("panel_stride_wrong")
def lbo_of_another_panel(p: Program) -> Wrong:
    if p.major != "MN" or p.swizzle == "none" or p.rows <= p.wide:
        return None
    return pack(p.start, p.lbo + 3 * p.atom, p.sbo, 0, p.code)


@blunder("other_slice")
def next_rows(p: Program) -> Wrong:
    if p.at_mn + 2 * p.rows > p.mn or p.at_k or (p.major == "MN" and p.rows % p.wide):
        return None
    return word(other(p, at_mn=p.at_mn + p.rows))


@blunder("base_offset_wrong")
def rows_of_the_start(p: Program) -> Wrong:
    """Data swizzled by address, three rows past the boundary, and base offset set all the same."""
    moved = other(p, base=p.base + 384)
    offset = moved.start >> 7 & 7
    if p.swizzle == "none" or offset == moved.start >> 11 & 7:
        return None
    return pack(moved.start, moved.lbo, moved.sbo, offset, moved.code), moved.storage


@blunder("base_offset_from_shifted_start")
def rows_of_the_field(p: Program) -> Wrong:
    offset = p.start >> 4 >> 7 & 7
    return pack(p.start, p.lbo, p.sbo, offset, p.code) if p.swizzle != "none" else None


@blunder("base_offset_as_k_advance")
def base_offset_steps(p: Program) -> Wrong:
    """The start stays, base offset counts the steps."""
    if not p.at_k or p.swizzle == "none" or p.at_k >= p.wide or p.major != "K":
        return None
    step = p.at_k * p.size // 32
    return pack(first(p), p.lbo, p.sbo, step & 7, p.code)


@blunder("base_offset_missing")
def tile_off_the_boundary(p: Program) -> Wrong:
    """Data swizzled from the tile's start, which is not on the pattern's boundary."""
    if p.swizzle == "none" or p.kind == "cute":
        return None
    moved = other(p, base=p.base + 128)
    if moved.base % p.atom == 0:
        return None
    return word(moved), {**moved.storage, "swizzle_by": "tile"}


@blunder("start_wrong")
def a_chunk_too_far(p: Program) -> Wrong:
    return pack(p.start + 16, p.lbo, p.sbo, 0, p.code)


@blunder("stride_wrong")
def sbo_odd(p: Program) -> Wrong:
    return pack(p.start, p.lbo, p.sbo + 208, 0, p.code)


@blunder("stored_unswizzled")
def stored_plain(p: Program) -> Wrong:
    if p.swizzle == "none" or p.kind == "canonical":
        return None
    return word(p), {**p.storage, "swizzle": "none"}


@blunder("stored_swizzle")
def stored_with_another_mode(p: Program) -> Wrong:
    across = p.k if p.major == "K" else p.mn
    others = [w for w in WIDTH if w != p.swizzle and not across * p.size % WIDTH[w] and (w != "none" or p.kind == "canonical")]
    if not others:
        return None
    stored = others[p.n // 8 % len(others)]
    return word(p), {**p.storage, "swizzle": stored}


@blunder("row_major_not_core_matrix")
def rows_for_core_matrices(p: Program) -> Wrong:
    """A plain row-major tile under mode none."""
    if p.swizzle != "none" or p.major != "K":
        return None
    return word(p), {"kind": "rows", "inner": "K", "pitch_bytes": max(p.k, 2 * p.wide) * p.size, "swizzle": "none", "base": p.base}


@blunder("not_canonical")
def padded_rows(p: Program) -> Wrong:
    if p.swizzle == "none" or p.kind != "rows":
        return None
    return word(p), {**p.storage, "pitch_bytes": WIDTH[p.swizzle] + 16}


def programs(seed: int, count: int) -> Iterator[Program]:
    """Random right programs over types, operands, majors, modes, orders, sizes, slices and kinds of storage."""
    random = Random(seed)
    made = 0
    while made < count:
        types = random.choice(list(TYPES))
        bits, step = TYPES[types]
        operand = random.choice("ab")
        n = random.choice((8, 16, 32, 64, 96, 128, 192, 256))
        major = random.choice(("K", "MN")) if bits == 16 else "K"
        swizzle = random.choice(("none", "32B", "64B", "128B", "128B"))
        wide = WIDTH[swizzle] * 8 // bits
        rows = 64 if operand == "a" else n
        unit_mn, unit_k = (8, max(wide, step)) if major == "K" else (max(wide, 8), step)
        mn = -(-rows // unit_mn) * unit_mn * random.choice((1, 1, 2, 3))
        k = unit_k * random.choice((1, 2, 3, 4, 8))
        if mn * k * bits // 8 > 100 * 1024:
            continue
        kind = random.choice(("canonical", "canonical", "atoms", "rows"))
        order = {"K": "mn", "MN": "k"}[major] if random.random() < 0.75 else random.choice(("mn", "k"))
        if kind == "rows":  # one panel
            mn, k = (mn, max(wide, step)) if major == "K" else (max(wide, 8), k)
            if rows > mn or step > k or swizzle == "none" or (k % wide and major == "K"):
                continue
            order = "mn" if major == "K" else "k"
        at_mn = random.randrange(0, mn - rows + 1, max(8, wide if major == "MN" else 8)) if random.random() < 0.3 else 0
        at_k = random.randrange(0, k, step) if random.random() < 0.7 else 0
        if at_mn % (wide if major == "MN" else 8):
            continue
        base = random.randrange(1, 60) * 1024
        made += 1
        yield Program(types, n, operand, major, swizzle, mn, k, order, base, at_mn, at_k, kind).with_right_fields()


@dataclass
class Row:
    """What was said of one kind of mistake."""

    code: str
    asked: int = 0
    named: int = 0
    alike: int = 0  # another of these mistakes gives the same word for the same data, and it was named
    second: int = 0  # named, after another cause
    other: int = 0
    harmless: int = 0  # the wrong word reads the right bytes


def study(seed: int, count: int) -> dict[str, Row]:
    """Ask the verifier about every mistake of `count` programs; ValueError where a verdict, a repair or a storage is wrong."""
    rows: dict[str, Row] = {}
    for p in programs(seed, count):
        if memory.verify_facts(p.ask(word(p)))["verdict"] != "match":
            raise ValueError(f"called wrong: {p}")
        made: dict[tuple[int, str], set[tuple[str, str]]] = {}
        where: dict[str, dict[str, Any] | None] = {}
        for code, name, function in BLUNDERS:
            wrong = function(p)
            if wrong is not None:
                given, stored = wrong if isinstance(wrong, tuple) else (wrong, None)
                where[repr(stored)] = stored
                made.setdefault((given & MASK, repr(stored)), set()).add((code, name))
        for (given, key), names in made.items():
            told = memory.verify_facts(p.ask(given, where[key]))
            for code, name in names:
                row = rows.setdefault(name, Row(code))
                row.asked += 1
                if told["verdict"] == "match":
                    row.harmless += 1
                    continue
                said = [d["code"] for d in told["diagnoses"]]
                row.named += said[0] == code
                row.alike += said[0] != code and said[0] in {c for c, _ in names}
                row.second += code in said[1:]
                row.other += said[0] not in {c for c, _ in names} and code not in said
            _sound(p, given, where[key], told)
    return rows


def _sound(p: Program, given: int, stored: dict[str, Any] | None, told: dict[str, Any]) -> None:
    """A repair verifies, and the word verifies under the storage that is named for it."""
    for diagnosis in told["diagnoses"]:
        fix = diagnosis["fix"]
        if fix and memory.verify_facts(p.ask(int(fix["descriptor"], 16), stored))["verdict"] != "match":
            raise ValueError(f"no repair: {p} {given:#x} {fix}")
        if (
            diagnosis["storage"]
            and diagnosis["code"].startswith("stored_")
            and memory.verify_facts(p.ask(given, diagnosis["storage"]))["verdict"] != "match"
        ):
            raise ValueError(f"no storage: {p} {given:#x} {diagnosis['storage']}")


def table(rows: dict[str, Row]) -> str:
    """The study as Markdown."""
    lines = [
        "| mistake | its name | words | named first | the same word as another | second | another cause |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(rows.items(), key=lambda item: (item[1].code, item[0])):
        shown = (name.replace("_", " "), f"`{row.code}`", row.asked - row.harmless, row.named, row.alike, row.second, row.other)
        lines.append("| " + " | ".join(map(str, shown)) + " |")
    return "\n".join(lines)


def totals(rows: dict[str, Row]) -> tuple[int, int, int]:
    """(wrong words asked about, named first or as an equal word's mistake, given another cause)."""
    values = rows.values()
    return sum(r.asked - r.harmless for r in values), sum(r.named + r.alike for r in values), sum(r.other for r in values)


if __name__ == "__main__":
    from pathlib import Path

    SEED, COUNT = 20261121, 1000
    found = study(SEED, COUNT)
    asked, good, bad = totals(found)
    harmless = sum(r.harmless for r in found.values())
    Path("docs/diagnoses.md").write_text(
        "# What the verifier says of known mistakes\n\n"
        f"Written by `make diagnoses`: {COUNT} random right programs (types, operands, majors, swizzle modes, sizes, slices, kinds of storage; seed {SEED}), each with every\n"
        "mistake of `tests/blunders.py` that applies to it. The mistakes are made by that file's own arithmetic.\n\n"
        f"Of {asked} wrong words the true cause was named first for {good} ({100 * good / asked:.1f} %), another cause for {bad} ({100 * bad / asked:.1f} %). All verdicts were right, every\n"
        f"repair verified. {harmless} more words were wrong only in bits that nothing reads, and verified.\n\n"
        + table(found) + "\n"
    )  # fmt: skip
    print(f"{asked} words, {good} named, {bad} another cause")
