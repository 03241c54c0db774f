"""Captures made in memory: what lies where, what each step reads, which slice it should read, and why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope.capture import fills, together
from lanescope.capture.form import Record
from lanescope.capture.known import Known, memory, of_fill, of_matrix
from lanescope.capture.order import INFERRED, STATED, Hint, Slice, hint, slices
from lanescope.capture.seen import (
    Step,
    Windows,
    asked,
    filled,
    first_element,
    grid,
    origin,
    other_matrix,
    sides,
    steps,
    taken,
)
from lanescope.capture.verify import Operand, Verdict
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.matrix import encode as word
from lanescope.ptx import catalog
from tests.calls import Call

WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
EMPTY = np.zeros(0, np.uint8)
A_AT, B_AT, END = 1024, 1024 + 8192, 1024 + 8192 + 2048  # of the tiles of 64 and of 8 rows, each of 64 of K


def call(words: object, made: Callable[..., Any], *given: Any, **more: Any) -> Call:
    return str(words), partial(made, *given, **more)


def tile(name: str, operand: str, mn: int, k: int, rows: int, depth: int, part: int = 1) -> np.ndarray:
    return fills.codes(mn + np.arange(rows)[:, None], k + np.arange(depth)[None], name, operand, part)


def flat(codes: np.ndarray, bits: int) -> np.ndarray:
    return np.ascontiguousarray(codes.astype(f"<u{bits // 8}")).view(np.uint8).reshape(-1)


# elements -------------------------------------------------------------------------------------------------------------


def of_elements() -> Iterator[Call]:
    """Codes, and which element of A or B lies at an address."""
    for name, operand in product(fills.TYPES, "ab"):
        both = (1, 2) if fills.passes(name) == 2 else (1,)
        for parts, earlier in ((both, False), (both[:1], False), (both, True)):
            one = of_fill(name, operand, parts, earlier)
            words = f"{name} {operand} {parts} {earlier}"
            yield call(words, lambda one=one: [one.real, one.extents, one.periods, one.own_periods, one.blocks])
            yield call(f"k {words}", lambda one=one: [one.whole_k(k) for k in (0, 1, 4, 8, 56, 112, 126, 127, 128)])
            for mn, k, rows, depth in (
                (0, 0, 8, 16),
                (5, 120, 4, 16),
                (236, 1010, 8, 16),
                (9, 3, 2, 12),
                (0, 95, 1, 4),
            ):
                grids = [tile(name, operand, mn, k, rows, depth, part) for part in parts]
                at = f"{words} {mn} {k} {rows} {depth}"
                yield call(at, one.identify, grids)
                yield call(f"lines {at}", one.identify_lines, grids)
            yield call(f"odd {words}", one.identify, [codes[0] for codes in grids])
            none = [np.zeros((2, 16), np.uint64) for _ in parts]
            yield call(f"none {words}", one.identify_lines, none)
            mixed = [
                np.where(np.arange(16) % 5, codes, 0) for codes in [tile(name, operand, 3, 7, 6, 16, p) for p in parts]
            ]
            yield call(f"mixed {words}", one.identify_lines, mixed)
            yield call(
                f"at {words}", one.at, np.arange(-2, 250, 31)[:, None], np.arange(-1, 1100, 97)[None], len(parts) - 1
            )
    for words, known, windows in remembered():
        held, odd = memory(known, windows, 1024), memory(known, windows, 1034)
        size = len(windows[0])
        ends = [*range(1022, 1030), 1040, 1042, *range(1024 + size - 4, 1024 + size + 2)]
        yield call(words, lambda held=held: [held.mn, held.k, held.major, held.end, held.present()])
        yield call(f"read {words}", held.gather, np.array(ends))
        yield call(f"found {words}", held.elements, np.array(ends))
        yield call(f"found from 1034 {words}", odd.elements, np.array(ends) + 10)
        for mn, k in ((0, 0), (1, 7), (3, 8), (7, 15), (16, 1), (239, 9), (240, 0), (-1, 0), (0, -1), (500, 500)):
            yield call(f"place {mn} {k} {words}", held.place, mn, k)


def remembered() -> Iterator[tuple[str, Known, list[np.ndarray]]]:
    """Windows of every kind: rows along K and along MN, misplaced, twice, wrapping, of a size that is no chunk's."""
    some = tile("bf16", "a", 0, 0, 16, 16)
    fill = of_fill("bf16", "a", (1,))
    real = of_matrix(np.arange(256).reshape(16, 16).astype(np.uint64) + 0x3F00, "bf16", "a")
    same = of_matrix(np.full((16, 16), 0x3F80, np.uint64), "bf16", "b")
    for size in (0, 1, 2, 15, 16, 17, 30, 32):
        yield f"{size} bytes", fill, [flat(some, 16)[:size]]
    zeros = np.zeros(64, np.uint8)
    for words, codes in (
        ("rows", some), ("columns", some.T), ("wraps", tile("bf16", "a", 232, 1008, 16, 16)),
        ("deep", tile("bf16", "a", 8, 0, 2, 1016)), ("high", tile("bf16", "a", 0, 0, 240, 8)),
        ("high columns", tile("bf16", "a", 0, 16, 248, 8).T), ("other", tile("bf16", "b", 0, 0, 16, 16)),
        ("gap", np.concatenate([some[:4], tile("bf16", "a", 100, 16, 4, 16)])),
    ):  # fmt: skip
        yield words, fill, [flat(codes, 16)]
    yield "misplaced", fill, [np.concatenate([zeros[:2], flat(some, 16)])]
    yield "behind", fill, [np.concatenate([zeros, flat(some, 16), zeros])]
    yield "twice", fill, [np.concatenate([flat(some, 16), flat(some, 16)])]
    yield "real", real, [flat(np.arange(256).reshape(16, 16) + 0x3F00, 16)]
    yield "real columns", real, [flat((np.arange(256).reshape(16, 16) + 0x3F00).T, 16)]
    yield "real part", real, [flat(np.arange(64, 128).reshape(4, 16) + 0x3F00, 16)]
    narrow = of_matrix(np.arange(15).reshape(3, 5).astype(np.uint64) + 0x3F00, "bf16", "a")
    yield "narrow", narrow, [flat(np.arange(15).reshape(3, 5) + 0x3F00, 16)]
    yield "all alike", same, [flat(np.full((2, 16), 0x3F80), 16)]
    for name in ("tf32", "e4m3", "u8"):
        bits = 32 if name == "tf32" else 8
        passes = range(1, fills.passes(name) + 1)
        for words, turn in (("rows", False), ("columns", True)):
            grids = [tile(name, "a", 0, 0, 16, 32, part) for part in passes]
            yield f"{name} {words}", of_fill(name, "a", tuple(passes)), [flat(g.T if turn else g, bits) for g in grids]
        first = [flat(tile(name, "b", 3, 112, 16, 16), bits)]
        yield f"{name} first pass", of_fill(name, "b", (1,)), first


# records --------------------------------------------------------------------------------------------------------------


def record(kind: str = "wgmma", label: str = "AB", text: str = "", **more: Any) -> Record:
    text = text or {"ldmatrix": LOAD, "mma": MMA}.get(kind, WGMMA)
    given = {"a": at(A_AT).word, "b": at(B_AT).word} if kind == "wgmma" else {}
    ones = {"scale_a": 1, "scale_b": 1, "trans_a": 0, "trans_b": 0} if kind == "wgmma" else {}
    made = Record(kind, "k.cu", 10, label, text, (0, 0, 0), 0, given, {}, ones, 1024, EMPTY)
    return replace(made, **more)


def at(base: int, k: int = 0, mode: str = "128B") -> Descriptor:
    return word(base + k * 2, 16, 1024, 0, mode)


def registers(count: int, first: int = 0) -> np.ndarray:
    return (np.arange(32 * count, dtype=np.uint32).reshape(32, count) + first * 1000).astype(np.uint32)


def of_recorded() -> Iterator[Call]:
    """Which records are steps, which registers they take, and what they say of their operands."""
    fragments = [record("fragment", "A", thread=32 * n, registers={"a": registers(4, n)}) for n in range(4)]
    small = [record("fragment", "a", thread=128 + 32 * n, registers={"a": registers(4, n)}) for n in range(4)]
    own, later = record(label="B"), record(label="b", thread=128)
    loads = [record("ldmatrix", label, registers={"a": registers(4, n)}) for n, label in enumerate(("A", "B", "", "C"))]
    mma = record("mma", "", registers={"a": registers(4), "b": registers(4, 1)[:, :2], "d": registers(4, 9)})
    far = replace(mma, registers={"a": registers(4, 7), "b": registers(2, 8)})
    for words, records in (
        ("none", []), ("alone", [own]), ("both", [record()]), ("a alone", [record(label="a")]),
        ("fed", [*fragments, own]),
        ("twice", [*fragments, own, *fragments, own]), ("after", [own, *fragments]), ("three", [*fragments[:3], own]),
        ("late warps", [fragments[0], own, *fragments[1:], *fragments, own]), ("second", [*small, later]),
        ("other group", [*fragments, later]), ("both groups", [*fragments, *small, own, later]),
        ("other block", [*[replace(one, block=(0, 1, 0)) for one in fragments], own]),
        ("other label", [*[replace(one, label="D") for one in fragments], own]), ("sees a", [*fragments, record()]),
        ("loads", [*loads, mma]), ("any", [loads[2], replace(mma, registers={"a": registers(4, 2)})]),
        ("c", [loads[3], replace(mma, registers={"a": registers(4, 3)})]),
        ("no registers", [*loads, record("mma", "")]),
        ("exchanged", [loads[0], replace(mma, registers={"a": registers(4)[:, [1, 0, 3, 2]]})]),
        ("two",
        [loads[0], loads[2],
        replace(mma, registers={"a": np.concatenate([registers(4)[:, :2], registers(4, 2)[:, 2:]], 1)})]),
        ("nearest", [loads[0], loads[0], mma]), ("other warp", [*loads, replace(mma, thread=32)]),
        ("other block of loads", [*loads, replace(mma, block=(1, 0, 0))]), ("behind", [mma, *loads]),
        ("without registers", [loads[0], record("ldmatrix", "A"), mma]),
        ("far", [*loads, *[far] * 257, mma]), ("not so far", [*loads, *[far] * 255, mma]),
        ("foreign", [record(text="wgmma.x"), mma, record("mma", text="mma.x"), record()]),
    ):  # fmt: skip
        yield call(words, told, records)
    for words, held in (("all", registers(4)), ("one", registers(4)[:, [2]]), ("none", registers(4, 5)),
                        ("some", np.concatenate([registers(2, 5), registers(4)], 1)),
                        ("other", registers(4, 1)[:, ::-1])):  # fmt: skip
        yield call(f"taken {words}", taken, loads[:2], held)
    for kind, label in product(("mma", "wgmma"), ("", "A", "b", "AB", "x")):
        yield call(f"asked {kind} {label}", asked, record(kind, label))
    for text in (MMA, WGMMA, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"):  # fmt: skip
        for name, op in catalog.find(text).operands.items():
            held = np.arange(op.threads * op.registers, dtype=np.uint32).reshape(op.threads, op.registers) * 0x01030507
            yield call(f"grid {name} {text}", grid, held.astype(np.uint32), op, name)
    known = {name: of_fill("f16", name, (1,)) for name in "ab"}
    for words, label, more in (
        ("right", "", {}), ("k", "", {"k": 64}), ("far", "", {"mn": 232, "k": 1008}), ("noise", "", {"noise": 3}),
        ("noise of two", "", {"noise": 2}), ("all noise", "", {"noise": 1}), ("b", "B", {}), ("a", "a", {}),
        ("narrow", "", {"cut": 1}), ("exchanged", "", {"turn": [1, 0, 2, 3]}),
    ):  # fmt: skip
        made = multiplied(label, **more)
        yield call(f"sides {words}", seen, [made], [[made]], known)
        yield call(f"only a {words}", seen, [made], [[made]], {"a": known["a"]})


def told(records: Sequence[Record]) -> list[Any]:
    found, unread = steps(records)
    return [[(s.number, s.group, s.depth, s.fed) for s in found], [(u.number, u.reason) for u in unread]]


def seen(records: Sequence[Record], files: Sequence[Sequence[Record]], known: dict[str, Known]) -> list[Any]:
    windows = Windows(known)
    out = []
    for one in steps(records)[0]:
        for side in sides(one, files, windows):
            other = other_matrix(side, windows, [file[one.number] for file in files])
            right = [int(side.right(mn, k).sum()) for mn, k in ((0, 0), (0, 16), (232, 1008))]
            out.append(
                [
                    side.operand,
                    side.mn,
                    side.k,
                    right,
                    origin(side),
                    first_element(side),
                    filled(side),
                    hint(side),
                    other,
                ]
            )
    return out


def fragment(name: str, codes: np.ndarray, text: str = MMA) -> np.ndarray:
    """[32][count] of one operand: codes [row][k]."""
    own = catalog.find(text).operand(name)
    held = (codes.T if name == "b" else codes)[own.rows, own.cols].astype(np.uint32)
    per = held.shape[1] // own.registers
    return np.asarray(sum(held[:, n::per] << (32 // per * n) for n in range(per)), np.uint32)


def multiplied(
    label: str = "", mn: int = 0, k: int = 0, noise: int = 0, cut: int = 0, turn: Sequence[int] = (), **more: Any
) -> Record:
    """An mma whose registers are of the fill from (mn, k) on; noise: every so many elements are of none."""
    held = {}
    for name, rows in (("a", 16), ("b", 8)):
        codes = tile("f16", name, mn, k, rows, 16)
        if noise:
            codes = np.where(np.arange(codes.size).reshape(codes.shape) % noise, codes, 7)
        made = fragment(name, codes)
        held[name] = made[:, cut:] if not turn or name == "b" else made[:, list(turn)]
    return record("mma", label, registers=held, **more)


# slices ---------------------------------------------------------------------------------------------------------------


def of_sliced() -> Iterator[Call]:
    """Which slice each step of a loop should read, from what its operands tell."""
    fill = {name: of_fill("bf16", name, (1,)) for name in "ab"}
    real = {name: of_matrix(np.zeros((64, 64), np.uint64), "bf16", name) for name in "ab"}
    whole, open_ = [(0, k, 1.0) for k in range(0, 64, 16)], (-1, -1, 0.0)
    for words, a, b, lines in (
        ("right", whole, whole, ""), ("a stays", [whole[0]] * 4, whole, ""), ("b stays", whole, [whole[0]] * 4, ""),
        ("both stay", [whole[0]] * 4, [whole[0]] * 4, ""),
        ("b ahead", whole, [(0, k + 16, 1.0) for k in range(0, 64, 16)], ""),
        ("a open", [open_] * 4, whole, ""), ("a open late", [whole[0], *[open_] * 3], [*[open_] * 4], ""),
        ("open", [open_] * 4, [open_] * 4, ""), ("unrolled", [whole[0]] * 4, whole, "abcd"),
        ("two lines", [whole[0]] * 4, [whole[0], whole[0], whole[1], whole[1]], "abab"),
        ("pairs", whole, whole, "aabb"),
        ("in part", [(0, 0, 0.5)] * 4, whole, ""), ("a quarter", [(8, 0, 0.25)] * 4, whole, ""),
        ("less", [(8, 0, 0.24)] * 4, whole, ""), ("odd", [(4, k, 1.0) for k in range(0, 64, 16)], whole, ""),
        ("odd once", [(8, 0, 1.0), (4, 16, 1.0), (16, 32, 1.0), (16, 48, 1.0)], whole, ""),
        ("others", [(8, 0, 1.0), (0, 16, 0.3), (16, 32, 1.0), (4, 48, 0.9)], whole, ""),
        ("turns", whole[::-1], whole, ""), ("jumps", [whole[2], whole[0], whole[3], whole[1]], [open_] * 4, ""),
        ("far", [(0, k + 1016, 1.0) for k in range(0, 64, 16)], whole, ""),
    ):  # fmt: skip
        for own in (fill, real):
            kind = "real" if own["a"].real else "fill"
            hints = [{"a": Hint(64, 16, *one), "b": Hint(8, 16, *other)} for one, other in zip(a, b, strict=True)]
            yield call(f"{words} {kind}", slices, looped(lines), hints, own)
    for words, hints_ in (
        ("first", {"first": (8, 16)}), ("first between", {"first": (8, 8)}), ("first odd", {"first": (4, 0)}),
        ("low", {"low": (8, 16), "size": (64, 64)}), ("low odd", {"low": (4, 8), "size": (64, 64)}),
        ("both", {"first": (16, 32), "low": (8, 0), "size": (72, 64)}),
        ("too high", {"first": (16, 0), "low": (8, 0), "size": (71, 64)}),
        ("below", {"first": (0, 0), "low": (8, 0), "size": (64, 64)}),
        ("round", {"first": (232, 0), "low": (200, 0), "size": (240, 64)}),
        ("round the end", {"first": (0, 0), "low": (200, 0), "size": (104, 64)}),
        ("share", {"mn": 16, "k": 0, "share": 0.25, "low": (0, 0), "size": (64, 64)}),
        ("share fits", {"mn": 0, "k": 0, "share": 0.25, "low": (0, 0), "size": (64, 64)}),
        ("share and first", {"mn": 16, "k": 0, "share": 0.3, "first": (8, 0)}),
    ):  # fmt: skip
        for own in (fill, real):
            kind = "real" if own["a"].real else "fill"
            yield call(
                f"{words} {kind}", slices, looped(""), [{"a": Hint(64, 16, **hints_), "b": Hint(8, 16)}] * 4, own
            )
            yield call(f"{words} {kind} alone", slices, looped("")[:1], [{"a": Hint(64, 16, **hints_)}], own)
            mixed = [{"a": Hint(64, 16, *whole[0])}, *[{"a": Hint(64, 16, **hints_)}] * 3]
            yield call(f"{words} {kind} mixed", slices, looped(""), mixed, own)
            deep = [{"a": Hint(64, 8, **hints_), "b": Hint(8, 16, *whole[0])}]
            yield call(f"{words} {kind} sparse", slices, looped("")[:1], deep, own)
    for stated in ({"k": 32}, {"m": 8}, {"n": 16}, {"m": 8, "k": 32}, {"m": 8, "n": 16, "k": 48}):
        for one in (whole[1], open_):
            hints = [{"a": Hint(64, 16, *one), "b": Hint(8, 16, *whole[0])}] * 2
            made = [replace(s, record=replace(s.record, slice=stated)) for s in looped("")[:2]]
            yield call(f"stated {stated} {one}", slices, made, hints, real)
    groups = [replace(s, group=(0, 0, 0, n % 2)) for n, s in enumerate(looped(""))]
    yield call(
        "groups", slices, groups, [{"a": Hint(64, 16, 0, 0, 1.0), "b": Hint(8, 16, *one)} for one in whole], fill
    )
    yield call("nothing", slices, looped(""), [{}] * 4, fill)
    yield call("no steps", slices, [], [], fill)


def looped(lines: str) -> list[Step]:
    """Four steps of one warpgroup; lines: a letter each, of the line where it stands."""
    records = [record(line=10 + (ord(lines[n]) - 97 if lines else 0)) for n in range(4)]
    return steps(records)[0]


# together -------------------------------------------------------------------------------------------------------------


def of_together() -> Iterator[Call]:
    """What steps say together: one name for one mistake, warps that multiply the same slices."""
    for kind, threads in (
        ("mma", (0, 32)),
        ("mma", (0, 0)),
        ("wgmma", (0, 128)),
        ("wgmma", (0, 64)),
        ("wgmma", (128, 0)),
    ):
        for words, more in (
            ("alike", {}), ("other m", {"m": 64}), ("other n", {"n": 8}), ("other k", {"k": 16}),
            ("stated", {"by": STATED}),
            ("another block", {"block": (0, 0, 1)}), ("one operand", {"only": True}),
        ):  # fmt: skip
            both = [verdict(kind, threads[0]), verdict(kind, threads[1], **more)]
            yield call(f"{kind} {threads} {words}", together.alike, both)
    three = [verdict("mma", 64), verdict("mma", 0), verdict("mma", 32), verdict("mma", 96, n=8)]
    yield call("three", together.alike, three)
    yield call("none", together.alike, [])
    moves: tuple[dict[str, tuple[int, int]], ...] = ({}, {"start_address": (4, 6)}, {"start_address": (8, 10)},
    {"start_address": (6, 4)},
    {"start_address": (4, 7)},
             {"swizzle": (1, 2)}, {"start_address": (4, 6), "swizzle": (1, 2)}, {"start_address": (4, 4)})  # fmt: skip
    for first, second in product(moves, moves):
        yield call(f"{first} {second}", named, first, second)


def verdict(
    kind: str, thread: int, m: int = 0, n: int = 0, k: int = 0, by: str = INFERRED,
    block: tuple[int, int, int] = (0, 0, 0),
    only: bool = False,
) -> Verdict:  # fmt: skip
    made = [
        Operand(name, "descriptor", Slice(mn, k, by), 8, 8, 0, 0, 5, "K", None, None, "", (0, 0), ())
        for name, mn in (("a", m), ("b", n))
    ]  # fmt: skip
    return Verdict(0, 0, record(kind, thread=thread, block=block), "", tuple(made[: 1 if only else 2]))


def named(first: dict[str, tuple[int, int]], second: dict[str, tuple[int, int]]) -> list[Any]:
    """A cause of step 3, then one of another code of step 5, of the same place and of another one."""
    made = together.Named()
    causes = [
        (Diagnosis(code, f"{code} says.", None, change), Diagnosis("more", ""))
        for code, change in (("one", first), ("two", second))
    ]
    return [
        made.alike(("k",), 3, causes[0]),
        made.alike(("k",), 5, causes[1]),
        made.alike(("l",), 7, causes[1]),
        made.alike(("k",), 9, ()),
    ]
