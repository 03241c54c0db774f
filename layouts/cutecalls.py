"""CuTe's algebra as people write it, step by step: `zipped_divide(composition(A, B), (4, _))`.

    A = (6,2):(8,2)
    B = (4,3):(3,1)
    composition(A, B)                     ((2,2),3):((24,2),8)

Statements stand on lines of their own or behind `;`; names stand for layouts; `A o B` is composition, `A(2,_)` a slice
and `A(2,1)` an index. C++ (`cute::`, `auto A = …`), the Python DSL and pycute's names are read alike. What CuTe would
not compile is the last step, with the reason and what would do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layouts import algebra, tuples
from layouts.cute import LONGEST, CuteLayout
from layouts.cutetext import Reader
from layouts.errors import LayoutError
from layouts.reading import nearest, shown
from layouts.tuples import size

Value = Any  # a CuteLayout, an int, a tuple, None
HINT = "e.g. logical_divide((4,2,3):(2,1,8), 4:2), or (6,2):(8,2) o (4,3):(3,1)."
MOST_STEPS, MOST_SIZE = 64, 1 << 16
_ASSIGNED = re.compile(r"\s*(?:(?:const|constexpr|auto|Layout)\s+)*([A-Za-z]\w*)\s*=(?!=)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. text: as it is called, arguments written out; result: None where it is refused, with error; parts:
    the steps that CuTe makes of it; name: what it is assigned to.
    """

    op: str
    text: str
    operands: tuple[Value, ...]
    result: Value
    says: str
    error: LayoutError | None = None
    parts: tuple[Step, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """An operation: how many arguments it takes, its first and second by kind, what computes it, what says it."""

    least: int
    most: int
    act: Callable[..., Value]
    says: Callable[..., str]
    parts: Callable[..., Sequence[tuple[str, tuple[Value, ...]]]] | None = None
    signature: str = ""


def written(value: Value) -> str:
    """A value as CuTe prints it; a layout of one int as 4:2."""
    if isinstance(value, CuteLayout):
        return str(value)
    if isinstance(value, tuple):
        return f"({','.join(map(written, value))})"
    return "_" if value is None else str(value)


def _of(a: CuteLayout) -> str:
    return f"{a.size} element{'s' * (a.size != 1)}"


def _composition(a: CuteLayout, b: Any, made: CuteLayout) -> str:
    if isinstance(b, tuple):
        return f"Each mode of {a} is composed with its part of {written(b)}."
    right = algebra.layout(b) if isinstance(b, int) else b
    if right is None:
        return "The underscore keeps every mode."
    at = min(1, right.size - 1)
    return (
        f"R(c) = A(B(c)), with the shape of B: it selects {_of(right)} of A."
        f" R({at}) = A(B({at})) = A({right(at)}) = {made(at)}."
    )


def _complement(a: CuteLayout, target: Any, made: CuteLayout) -> str:
    whole = size(target) if target is not None else algebra.filtered(a).cosize
    times = f"{made.size} repetition{'s' * (made.size != 1)} of A"
    if algebra.filtered(a).size * made.size == whole:
        return f"What A leaves out, in ascending order: (A, R) reaches each of the {whole} indices once, with {times}."
    return f"What A leaves out, in ascending order: (A, R) covers {whole} indices and more, with {times}."


def _divide(a: CuteLayout, tiler: Any, made: CuteLayout) -> str:
    return f"Mode 0 is the tile that {written(tiler)} selects, mode 1 the repetitions that reach the rest of A."


_LAYOUT_OF = {
    "zipped": "((tiles), (rests)): all tiles in mode 0, all rests in mode 1.",
    "tiled": "((tiles), rest, rest, …): the rests are modes of their own.",
    "flat": "(tile, tile, …, rest, rest, …): every mode of its own.",
}


def _said_regrouped(word: str, of: str) -> Callable[..., str]:
    return lambda *_: f"logical_{of} with its modes gathered as {_LAYOUT_OF[word]}"


def _product(a: CuteLayout, tiler: Any, made: CuteLayout) -> str:
    return f"Mode 0 is the block {a}, mode 1 the places of its copies: {written(tiler)} counted in whole blocks."


def _blocked(a: CuteLayout, tiler: Any, made: CuteLayout) -> str:
    return "Mode by mode (block, copies): each block stays together, the copies lie side by side."


def _raked(a: CuteLayout, tiler: Any, made: CuteLayout) -> str:
    return "Mode by mode (copies, block): the copies are interleaved, neighbours belong to different blocks."


def _right(a: CuteLayout, made: CuteLayout) -> str:
    return f"A(R(i)) = i for the first {made.size} of {a.cosize} indices: as long as A leaves no gap from 0 on."


def _left(a: CuteLayout, made: CuteLayout) -> str:
    if np.unique(a.indices()).size < a.size:
        return "Indices of A repeat: A(L(A(i))) = A(i)."
    return "L(A(i)) = i for every coordinate i of A."


def _coalesce(a: CuteLayout, profile: Any, made: CuteLayout) -> str:
    had, has = len(tuples.leaves(a.shape)), len(tuples.leaves(made.shape))
    each = " in each mode of the profile" if profile is not None else ""
    if had == has:
        return f"No two neighbouring modes continue one another{each}: nothing changes but the nesting."
    return f"{had} modes become {has}{each}: sizes of 1 go, and a mode that continues the one before joins it."


def _logical_divide_parts(a: CuteLayout, tiler: Any) -> list[tuple[str, tuple[Value, ...]]]:
    if isinstance(tiler, tuple) or tiler is None:
        return []
    tile = algebra.layout(tiler) if isinstance(tiler, int) else tiler
    rest = algebra.complement(tile, algebra.coalesce(algebra.body(a)).shape)
    return [
        ("complement", (tile, algebra.coalesce(algebra.body(a)).shape)),
        ("composition", (a, algebra.joined(tile, rest))),
    ]


def _logical_product_parts(a: CuteLayout, tiler: Any) -> list[tuple[str, tuple[Value, ...]]]:
    if isinstance(tiler, tuple) or tiler is None or a.swizzle or a.offset:
        return []
    tile = algebra.layout(tiler) if isinstance(tiler, int) else tiler
    free = algebra.complement(a, a.size * tile.cosize)
    return [("complement", (a, a.size * tile.cosize)), ("composition", (free, tile))]


def _first(name: str) -> Callable[..., Sequence[tuple[str, tuple[Value, ...]]]]:
    return lambda a, tiler: [(name, (a, tiler))]


def _grouped(word: str, of: str) -> Op:
    act = getattr(algebra, f"{word}_{of}")
    return Op(2, 2, act, _said_regrouped(word, of), _first(f"logical_{of}"), "(layout, tiler)")


OPS: dict[str, Op] = {
    "composition": Op(2, 2, algebra.composition, _composition, None, "(layout, layout or tiler)"),
    "complement": Op(
        1, 2, lambda a, target=None: algebra.complement(a, target.shape if isinstance(target, CuteLayout) else target),
        lambda a, *rest: _complement(a, rest[0] if len(rest) > 1 else None, rest[-1]), None, "(layout, size or shape)",
    ),
    "coalesce": Op(
        1, 2, algebra.coalesce, lambda a, *rest: _coalesce(a, rest[0] if len(rest) > 1 else None, rest[-1]), None,
        "(layout, profile)",
    ),
    "filter": Op(1, 1, algebra.filtered, lambda *_: "Modes of stride 0 and of size 1 go.", None, "(layout)"),
    "flatten": Op(1, 1, algebra.flattened, lambda *_: "The same modes without nesting.", None, "(layout)"),
    "logical_divide": Op(2, 2, algebra.logical_divide, _divide, _logical_divide_parts, "(layout, tiler)"),
    "logical_product": Op(2, 2, algebra.logical_product, _product, _logical_product_parts, "(layout, tiler)"),
    "blocked_product": Op(2, 2, algebra.blocked_product, _blocked, None, "(block, tiler)"),
    "raked_product": Op(2, 2, algebra.raked_product, _raked, None, "(block, tiler)"),
    "right_inverse": Op(1, 1, algebra.right_inverse, _right, None, "(layout)"),
    "left_inverse": Op(1, 1, algebra.left_inverse, _left, None, "(layout)"),
    "nullspace": Op(1, 1, algebra.nullspace, lambda *_: "The coordinates that all give index 0.", None, "(layout)"),
    "max_common_layout": Op(
        2, 2, algebra.max_common_layout, lambda *_: "The most elements contiguous from 0 in both.", None, "(a, b)"
    ),
    "max_common_vector": Op(
        2, 2, algebra.max_common_vector, lambda *_: "How many elements are contiguous from 0 in both.", None, "(a, b)"
    ),
    "upcast": Op(2, 2, algebra.upcast, lambda a, n, _: f"Elements {n} times as wide.", None, "<n>(layout)"),
    "downcast": Op(2, 2, algebra.downcast, lambda a, n, _: f"Elements a {n}th as wide.", None, "<n>(layout)"),
    "with_shape": Op(
        2, 2, algebra.with_shape, lambda *_: "The same indices, with coordinates of another shape.", None,
        "(layout, shape)",
    ),
    "tile_to_shape": Op(
        2, 3, algebra.tile_to_shape, lambda *_: "The block repeated until it has the shape.", None,
        "(block, shape, order)",
    ),
    "size": Op(1, 1, lambda a: a.size, lambda *_: "The number of coordinates.", None, "(layout)"),
    "cosize": Op(1, 1, lambda a: a.cosize, lambda *_: "One more than the greatest index.", None, "(layout)"),
    "rank": Op(1, 1, lambda a: a.rank, lambda *_: "The number of modes.", None, "(layout)"),
    "depth": Op(1, 1, lambda a: tuples.depth(a.shape), lambda *_: "How deep the modes are nested.", None, "(layout)"),
    "shape": Op(1, 1, lambda a: a.shape, lambda *_: "Its sizes.", None, "(layout)"),
    "stride": Op(1, 1, lambda a: a.stride, lambda *_: "Its steps.", None, "(layout)"),
}  # fmt: skip
OPS |= {f"{word}_{of}": _grouped(word, of) for of in ("divide", "product") for word in ("zipped", "tiled", "flat")}
ALIASES = {"inverse": "right_inverse", "compose": "composition", "divide": "logical_divide"}
NUMBERS = {"upcast", "downcast"}  # whose second argument is a number
SHAPES = {"complement", "coalesce", "with_shape", "tile_to_shape"}  # whose further arguments are sizes
FITTED = {
    "composition",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
}  # what a near operand may fit
PAIRS = {"blocked_product", "raked_product", "max_common_layout", "max_common_vector"}  # of two layouts


def called(op: str, given: Sequence[Value]) -> Step:
    """One operation on values; a refusal is a step with its error."""
    row = OPS[op]
    text = f"{op}({', '.join(map(written, given))})"
    try:
        values = _checked(op, row, given)
        made = row.act(*values)
    except LayoutError as error:
        return Step(op, text, tuple(given), None, "", _with_fit(op, given, error.at("expression")))
    parts = tuple(called(name, args) for name, args in (row.parts(*values) if row.parts else ()))
    return Step(op, text, tuple(values), made, row.says(*values, made), None, parts)


def _checked(op: str, row: Op, given: Sequence[Value]) -> list[Value]:
    """Arguments of the right kinds and of a size that is worked out; a shape is a layout of compact strides."""
    takes = f"{op}{row.signature}"
    if not row.least <= len(given) <= row.most:
        raise LayoutError("bad_cute", f"{op} has {len(given)} arguments.", f"{takes}.", "expression")
    values = list(given)
    for at, value in enumerate(values):
        layout_due = at == 0 or op in PAIRS
        if layout_due and isinstance(value, int | tuple) and _is_shape(value):
            values[at] = value = algebra.layout(value)
        right = (
            isinstance(value, CuteLayout)
            if layout_due
            else (
                isinstance(value, int) and value > 0
                if op in NUMBERS
                else _is_shape(value) or (isinstance(value, CuteLayout) and op == "coalesce")
                if op in SHAPES
                else _is_tiler(value)
            )
        )
        if not right:
            what = "a layout" if layout_due else "a number" if op in NUMBERS else "sizes" if op in SHAPES else "a tiler"
            raise LayoutError(
                "bad_cute", f"Argument {at + 1} of {op} is {shown(written(value), 60)}, not {what}.", f"{takes}.",
                "expression",
            )  # fmt: skip
        for one in _layouts(value):
            if one.size > MOST_SIZE:
                raise LayoutError(
                    "too_large",
                    f"{shown(str(one), 60)} has {one.size} elements.",
                    f"At most {MOST_SIZE}.",
                    "expression",
                )
    return values


def _layouts(value: Value) -> list[CuteLayout]:
    if isinstance(value, tuple):
        return [one for item in value for one in _layouts(item)]
    return [value] if isinstance(value, CuteLayout) else []


def _is_shape(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_shape, value))
    return isinstance(value, int) and value > 0


def _is_tiler(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_tiler, value))
    return value is None or isinstance(value, CuteLayout) or (isinstance(value, int) and value > 0)


def _with_fit(op: str, given: Sequence[Value], error: LayoutError) -> LayoutError:
    """A refused composition or divide with the nearest right operands that would do."""
    if op not in FITTED or error.code != "not_admissible":
        return error
    fits = nearest_fits(given[0], given[1], OPS[op].act)
    if not fits:
        return error
    told = f"{error.hint} With {given[0]} these would do: {', '.join(map(str, fits))}."
    return LayoutError(error.code, error.message, told, "expression")


def nearest_fits(a: CuteLayout, b: Value, act: Callable[[CuteLayout, Value], Value]) -> list[CuteLayout]:
    """Right operands that differ from b in one size or stride and are taken, the nearest first; three at most."""
    if (
        not isinstance(a, CuteLayout)
        or not isinstance(b, CuteLayout)
        or b.swizzle
        or b.offset
        or len(tuples.leaves(b.shape)) > 6
    ):
        return []
    sizes, strides = tuples.leaves(b.shape), tuples.leaves(b.stride)
    tried: list[tuple[int, CuteLayout]] = []
    for at in range(len(sizes)):
        for which, numbers in ((0, sizes), (1, strides)):
            for change in (*range(-min(numbers[at] - 1, 16), 0), *range(1, 17)):
                new = [*numbers]
                new[at] += change
                made = (_like(b.shape, new), b.stride) if which == 0 else (b.shape, _like(b.stride, new))
                tried.append((abs(change), CuteLayout(*made)))
    out: list[CuteLayout] = []
    for _, one in sorted(tried, key=lambda item: item[0]):
        if one.cosize > a.size or one in out:
            continue
        try:
            act(a, one)
        except LayoutError:
            continue
        out.append(one)
        if len(out) == 3:
            break
    return out


def _like(nested: Any, flat: Sequence[int]) -> Any:
    """The numbers nested as another tuple is."""
    left = list(flat)

    def walk(item: Any) -> Any:
        return left.pop(0) if isinstance(item, int) else tuple(walk(part) for part in item)

    return walk(nested)


# What the reader of layouts knows by itself.
MADE = ("make_", "Layout", "Shape", "Stride", "Step", "Coord", "Tile", "tuple", "Tuple", "Int", "C", "Constant", "S",
        "ComposedLayout", "Underscore", "constant", "Sw", "Swizzle", "X")  # fmt: skip


class _RefusedError(Exception):
    """A step that was refused: nothing after it is computed."""


class _Calls(Reader):
    """One statement; operations become steps as their brackets close."""

    tuples = ("(", "[", "<")

    def __init__(self, text: str, names: dict[str, Value], steps: list[Step]) -> None:
        super().__init__(text, "expression")
        self.names, self.steps = names, steps

    def act(self, op: str, given: Sequence[Value]) -> Value:
        if len(self.steps) >= MOST_STEPS:
            raise LayoutError("too_large", f"There are more than {MOST_STEPS} steps.", "Write fewer.", "expression")
        step = called(op, given)
        self.steps.append(step)
        if step.error:
            raise _RefusedError
        return step.result

    def named(self, token: str) -> Value:
        name = token.replace("::", ".").rpartition(".")[2]
        if name in self.names and self.next not in ("<",):
            return self.sliced(self.names[name])
        op = ALIASES.get(name, name)
        if op in OPS and self.next in ("(", "<") and not self.swizzles(name):
            templated: list[Value] = []
            if self.next == "<":
                self.take()
                templated = [value for _, value in self.items(">")]
            self.take("(")
            given = [value for _, value in self.items(")")]
            return self.sliced(self.act(op, [*given, *templated]))
        if name == "slice" and self.next == "(":
            self.take("(")
            coord, one = ([value for _, value in self.items(")")] + [None, None])[:2]
            return self.slice(one, coord)
        if re.fullmatch(r"[A-Za-z]\w*", name) and self.next == "(" and name not in OPS and not name.startswith(MADE):
            near = nearest(name, OPS)
            raise self.bad(
                f"calls '{shown(name)}', which is no operation here", f"Did you mean {near}?" if near else HINT
            )
        return super().named(token)

    def swizzles(self, name: str) -> bool:
        """composition(Swizzle<…>{}, …) makes a ComposedLayout: the reader of layouts knows it."""
        ahead = self.tokens[self.at + 1 : self.at + 2]
        return name == "composition" and bool(ahead) and ahead[0].rpartition("::")[2].rpartition(".")[2] in (
            "Swizzle", "Sw", "make_swizzle",
        )  # fmt: skip

    def pair(self) -> Value:
        return self.sliced(super().pair())

    def applied(self, found: Value) -> Value:
        return self.sliced(found) if isinstance(found, CuteLayout) else super().applied(found)

    def sliced(self, found: Value) -> Value:
        """What brackets behind a layout mean: an index, or a slice where an underscore stands in them."""
        while self.next == "(" and isinstance(found, CuteLayout):
            self.take("(")
            given = [value for _, value in self.items(")")]
            if given:
                found = self.slice(found, given[0] if len(given) == 1 else tuple(given))
        return found

    def slice(self, one: Value, coord: Value) -> Value:
        text = f"{written(one)}{algebra.said(coord) if isinstance(coord, tuple) else f'({written(coord)})'}"
        try:
            if not isinstance(one, CuteLayout) or not _is_coordinate(coord):
                raise LayoutError(
                    "bad_cute", f"{shown(text, 80)} is no slice.", "layout(coordinate): A(2,_).", "expression"
                )
            step = _sliced(text, one, coord)
        except LayoutError as error:
            step = Step("slice", text, (one, coord), None, "", error.at("expression"))
        self.steps.append(step)
        if step.error:
            raise _RefusedError
        return step.result

    def in_front(self, part: Value, made: CuteLayout) -> CuteLayout:
        if isinstance(part, CuteLayout):
            found: CuteLayout = self.act("composition", [part, made])
            return found
        return super().in_front(part, made)


def _is_coordinate(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_coordinate, value))
    return value is None or isinstance(value, int)


def _sliced(text: str, one: CuteLayout, coord: Value) -> Step:
    algebra.inside(coord, one.shape)
    if not _open(coord):
        index = one(*coord) if isinstance(coord, tuple) else one(coord)
        steps = " + ".join(
            f"{c}·{d}" for c, d in zip(_digits(coord, one.shape), tuples.leaves(one.stride), strict=True)
        )
        plain = f"{steps} = {algebra.body(one)(*coord) if isinstance(coord, tuple) else algebra.body(one)(coord)}"
        return Step("index", text, (one, coord), index, plain + (f", then {one.swizzle}." if one.swizzle else "."))
    rest, start = algebra.sliced(one, coord)
    where = "" if one.swizzle else f", from index {start}"
    return Step("slice", text, (one, coord), rest, f"The modes at the underscores stay{where}.")


def _digits(coord: Value, shape: Any) -> list[int]:
    if isinstance(coord, int):
        return tuples.leaves(tuples.coordinate(coord, shape)) if not isinstance(shape, int) else [coord]
    return [digit for part, mode in zip(coord, shape, strict=True) for digit in _digits(part, mode)]


def _open(coord: Value) -> bool:
    return any(map(_open, coord)) if isinstance(coord, tuple) else coord is None


def steps(text: str) -> list[Step]:
    """The steps of statements, in the order in which they are computed. The last has an error where one is refused; the
    last statement's value is a step of its own where it is a plain layout. LayoutError for a text that cannot be read.
    """
    if len(text) > LONGEST:
        raise LayoutError(
            "bad_cute", f"The expression has {len(text)} characters.", f"At most {LONGEST}.", "expression"
        )
    out: list[Step] = []
    names: dict[str, Value] = {}
    for statement in _statements(text):
        match = _ASSIGNED.match(statement)
        name, body = (match[1], statement[match.end() :]) if match else ("", statement)
        if name in OPS:
            raise LayoutError("bad_cute", f"'{name}' is an operation.", "Give the layout another name.", "expression")
        before = len(out)
        try:
            found = _Calls(body, names, out).whole()
        except _RefusedError:
            return out
        if isinstance(found, tuple) and not name and before == len(out) and _is_shape(found):
            found = algebra.layout(found)
        if len(out) == before and isinstance(found, CuteLayout):
            if found.size > MOST_SIZE:
                raise LayoutError(
                    "too_large", f"{found} has {found.size} elements.", f"At most {MOST_SIZE}.", "expression"
                )
            out.append(Step("layout", str(found), (found,), found, _plain(found), name=name))
        elif len(out) > before and name:
            last = out[-1]
            out[-1] = Step(last.op, last.text, last.operands, last.result, last.says, last.error, last.parts, name)
        elif len(out) == before and not name:
            raise LayoutError("bad_cute", f"'{shown(body, 60)}' computes nothing.", HINT, "expression")
        if name:
            names[name] = found
    if not out:
        raise LayoutError("bad_cute", "The expression is empty.", HINT, "expression")
    return out


def _plain(one: CuteLayout) -> str:
    indices = np.unique(one.indices())
    if not indices.size:
        return f"{one.rank} mode{'s' * (one.rank != 1)} without an element."
    repeats = "each index once" if indices.size == one.size else f"{indices.size} different indices"
    gaps = "without gaps" if indices.size == int(indices[-1]) + 1 else f"up to {int(indices[-1])}"
    return f"{one.rank} mode{'s' * (one.rank != 1)}, {_of(one)}: {repeats}, {gaps}."


def _statements(text: str) -> list[str]:
    """Cut at `;` and at the ends of lines outside all brackets; comments of C++ and Python go."""
    text = re.sub(r"//[^\n]*|#[^\n]*", "", text)
    out, start, deep = [], 0, 0
    for at, mark in enumerate(text):
        deep += (mark in "([{") - (mark in ")]}")
        if mark == ";" or (mark == "\n" and deep <= 0):
            out.append(text[start:at])
            start = at + 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]
