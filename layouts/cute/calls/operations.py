"""The table of CuTe's operations: arguments, the function that computes the result, and the one that describes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lanescope.cute import algebra, tuples
from lanescope.cute.calls import sentences
from lanescope.cute.calls.fits import add_nearest_fits
from lanescope.cute.calls.sentences import Value, format_value
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, shorten_value

MOST_SIZE = 1 << 16


def is_shape(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(is_shape, value))
    return isinstance(value, int) and value > 0


def _is_order(value: Value) -> bool:
    """Return whether a value is an order of modes: a tuple of numbers, lowest first."""
    return isinstance(value, tuple) and all(isinstance(item, int) and item >= 0 for item in value)


def _is_tiler(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_tiler, value))
    return value is None or isinstance(value, CuteLayout) or (isinstance(value, int) and value > 0)


def _is_coordinate(value: Value) -> bool:
    """Return whether a value is a coordinate: numbers, and underscores for whole modes."""
    return all(map(_is_coordinate, value)) if isinstance(value, tuple) else value is None or isinstance(value, int)


class ArgumentKind(NamedTuple):
    """A kind of argument: its name in a sentence, and a predicate."""

    name: str
    fits: Callable[[Value], bool]


_LAYOUT = ArgumentKind("a layout", lambda value: isinstance(value, CuteLayout))
_COUNT = ArgumentKind("a number", lambda value: isinstance(value, int) and value > 0)
_ORDER = ArgumentKind("an order of modes", _is_order)
_SIZES = ArgumentKind("sizes", is_shape)
_SIZES_OF_LAYOUT = ArgumentKind("sizes", lambda value: is_shape(value) or isinstance(value, CuteLayout))
_TILER = ArgumentKind("a tiler", _is_tiler)
_INDEX = ArgumentKind("a number", lambda value: isinstance(value, int) and value >= 0)
_FLAG = ArgumentKind("true or false", lambda value: isinstance(value, bool))
_COORDINATE = ArgumentKind("a coordinate", _is_coordinate)


@dataclass(frozen=True, slots=True)
class AlgebraStep:
    """One evaluated operation.

    text: the call with its arguments' values; result: None if it failed, with `error`; says: a sentence about the
    result; parts: the operations that define it; name: the variable that it is assigned to, or "".
    """

    op: str
    text: str
    operands: tuple[Value, ...]
    result: Value
    says: str
    error: LayoutError | None = None
    parts: tuple[AlgebraStep, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation.

    least, most: the number of arguments; act: computes the result; says: describes it in a sentence; kinds: the kinds
    of its arguments, the last for all further ones, () if the tables below have them; called: how many arguments are in
    parentheses, the others being template arguments; 0 for all.
    """

    least: int
    most: int
    act: Callable[..., Value]
    says: Callable[..., str]
    parts: Callable[..., Sequence[tuple[str, tuple[Value, ...]]]] | None = None
    signature: str = ""
    kinds: tuple[ArgumentKind, ...] = ()
    called: int = 0


def _list_divide_parts(a: CuteLayout, tiler: Any) -> list[tuple[str, tuple[Value, ...]]]:
    if isinstance(tiler, tuple) or tiler is None:
        return []
    tile = algebra.make_layout(tiler) if isinstance(tiler, int) else tiler
    rest = algebra.complement(tile, algebra.coalesce(algebra.strip_swizzle(a)).shape)
    return [
        ("complement", (tile, algebra.coalesce(algebra.strip_swizzle(a)).shape)),
        ("composition", (a, algebra.concatenate(tile, rest))),
    ]


def _list_product_parts(a: CuteLayout, tiler: Any) -> list[tuple[str, tuple[Value, ...]]]:
    if isinstance(tiler, tuple) or tiler is None or a.swizzle or a.offset:
        return []
    tile = algebra.make_layout(tiler) if isinstance(tiler, int) else tiler
    free = algebra.complement(a, a.size * tile.cosize)
    return [("complement", (a, a.size * tile.cosize)), ("composition", (free, tile))]


def _list_rowcol_parts(layout: CuteLayout, _transposed: bool = False) -> list[tuple[str, tuple[Value, ...]]]:
    return [("logical_divide", (layout, (2,)))] if layout.modes[0].shape == 4 else []


def _list_aregs_parts(layout: CuteLayout, bits: int = 16) -> list[tuple[str, tuple[Value, ...]]]:
    if layout.modes[0].rank == 3:
        tiler = 2 if bits == 16 else algebra.make_layout((2, 2))
        return [("get", (layout, 0, 2)), ("logical_divide", (layout.modes[0].modes[2], tiler))]
    return [("logical_divide", (layout, (None, None, 2)))]


def _make_single_part(name: str) -> Callable[..., Sequence[tuple[str, tuple[Value, ...]]]]:
    return lambda a, tiler: [(name, (a, tiler))]


def _make_grouped_op(word: str, of: str) -> Operation:
    act = getattr(algebra, f"{word}_{of}")
    return Operation(
        2,
        2,
        act,
        sentences.make_regrouping_description(word, of),
        _make_single_part(f"logical_{of}"),
        "(layout, tiler)",
    )


OPS: dict[str, Operation] = {
    "composition": Operation(
        2, 2, algebra.composition, sentences.describe_composition, None, "(layout, layout or tiler)"
    ),
    "complement": Operation(
        1,
        2,
        lambda a, target=None: algebra.complement(a, target.shape if isinstance(target, CuteLayout) else target),
        lambda a, *rest: sentences.describe_complement(a, rest[0] if len(rest) > 1 else None, rest[-1]),
        None,
        "(layout, size or shape)",
    ),
    "coalesce": Operation(
        1,
        2,
        algebra.coalesce,
        lambda a, *rest: sentences.describe_coalesce(a, rest[0] if len(rest) > 1 else None, rest[-1]),
        None,
        "(layout, profile)",
    ),
    "filter": Operation(
        1, 1, algebra.filter_layout, lambda *_: "Modes of stride 0 and of size 1 go.", None, "(layout)"
    ),
    "flatten": Operation(1, 1, algebra.flatten, lambda *_: "The same modes without nesting.", None, "(layout)"),
    "logical_divide": Operation(
        2, 2, algebra.logical_divide, sentences.describe_divide, _list_divide_parts, "(layout, tiler)"
    ),
    "logical_product": Operation(
        2, 2, algebra.logical_product, sentences.describe_product, _list_product_parts, "(layout, tiler)"
    ),
    "blocked_product": Operation(2, 2, algebra.blocked_product, sentences.describe_blocked, None, "(block, tiler)"),
    "raked_product": Operation(2, 2, algebra.raked_product, sentences.describe_raked, None, "(block, tiler)"),
    "right_inverse": Operation(1, 1, algebra.right_inverse, sentences.describe_right_inverse, None, "(layout)"),
    "left_inverse": Operation(1, 1, algebra.left_inverse, sentences.describe_left_inverse, None, "(layout)"),
    "nullspace": Operation(
        1, 1, algebra.nullspace, lambda *_: "The coordinates that all give index 0.", None, "(layout)"
    ),
    "max_common_layout": Operation(
        2, 2, algebra.max_common_layout, lambda *_: "The most elements contiguous from 0 in both.", None, "(a, b)"
    ),
    "max_common_vector": Operation(
        2, 2, algebra.max_common_vector, lambda *_: "How many elements are contiguous from 0 in both.", None, "(a, b)"
    ),
    "upcast": Operation(2, 2, algebra.upcast, lambda a, n, _: f"Elements {n} times as wide.", None, "<n>(layout)"),
    "downcast": Operation(2, 2, algebra.downcast, lambda a, n, _: f"Elements a {n}th as wide.", None, "<n>(layout)"),
    "with_shape": Operation(
        2,
        2,
        algebra.with_shape,
        lambda *_: "The same indices, with coordinates of another shape.",
        None,
        "(layout, shape)",
    ),
    "tile_to_shape": Operation(
        2,
        3,
        algebra.tile_to_shape,
        lambda *_: "The block repeated until it has the shape.",
        None,
        "(block, shape, order)",
    ),
    "size": Operation(1, 1, lambda a: a.size, lambda *_: "The number of coordinates.", None, "(layout)"),
    "cosize": Operation(1, 1, lambda a: a.cosize, lambda *_: "One more than the greatest index.", None, "(layout)"),
    "rank": Operation(1, 1, lambda a: a.rank, lambda *_: "The number of modes.", None, "(layout)"),
    "depth": Operation(
        1, 1, lambda a: tuples.depth(a.shape), lambda *_: "How deep the modes are nested.", None, "(layout)"
    ),
    "shape": Operation(1, 1, lambda a: a.shape, lambda *_: "Its sizes.", None, "(layout)"),
    "stride": Operation(1, 1, lambda a: a.stride, lambda *_: "Its steps.", None, "(layout)"),
}
OPS |= {
    "get": Operation(
        2,
        9,
        algebra.get_mode,
        lambda a, *at: f"Mode {', '.join(map(str, at[:-1]))} of the layout: its shape and its strides.",
        None,
        "<mode, …>(layout)",
        (_LAYOUT, _INDEX),
        1,
    ),
    "make_layout_like": Operation(
        1, 1, algebra.make_layout_like, lambda *_: "Compact strides, in the order of the strides.", None, "(layout)"
    ),
    "make_fragment_like": Operation(1, 1, algebra.make_fragment_like, sentences.describe_fragment, None, "(partition)"),
    "retile": Operation(
        4,
        4,
        algebra.retile,
        sentences.describe_retile,
        None,
        "(fragment, thread-value layout, tiler, values of an atom)",
        (_LAYOUT, _LAYOUT, _TILER, _COUNT),
    ),
    "convert_layout_acc_rowcol": Operation(
        1,
        2,
        algebra.convert_layout_acc_rowcol,
        sentences.describe_rowcol,
        _list_rowcol_parts,
        "<Transposed>(accumulator)",
        (_LAYOUT, _FLAG),
        1,
    ),
    "convert_layout_acc_Aregs": Operation(
        1,
        2,
        algebra.convert_layout_acc_aregs,
        sentences.describe_aregs,
        _list_aregs_parts,
        "<bits of A>(accumulator)",
        (_LAYOUT, _COUNT),
        1,
    ),
    "create_tma_multicast_mask": Operation(
        2,
        9,
        algebra.create_tma_multicast_mask,
        sentences.describe_multicast,
        None,
        "<mode, …>(layout of the CTAs, coordinate)",
        (_LAYOUT, _COORDINATE, _INDEX),
        2,
    ),
}
OPS |= {
    f"{word}_{of}": _make_grouped_op(word, of) for of in ("divide", "product") for word in ("zipped", "tiled", "flat")
}
ALIASES = {
    "make_tensor_like": "make_layout_like",
    "inverse": "right_inverse",
    "compose": "composition",
    "divide": "logical_divide",
    "retile_S": "retile",
    "retile_D": "retile",
}
NUMBERS = {"upcast", "downcast"}  # the second argument is a number
ORDERED = ("tile_to_shape", 2)  # the argument that is an order of modes: Step<_0,_1>, Step<_2,_1>
SHAPES = {"complement", "coalesce", "with_shape", "tile_to_shape"}  # the further arguments are sizes
PAIRS = {"blocked_product", "raked_product", "max_common_layout", "max_common_vector"}  # both arguments are layouts


def apply_operation(op: str, arguments: Sequence[Value]) -> AlgebraStep:
    """Return the step of one operation on values, with an error if it fails."""
    row = OPS[op]
    text = _format_call(op, row, arguments)
    try:
        values = _check_arguments(op, row, arguments)
        result = row.act(*values)
    except LayoutError as error:
        return AlgebraStep(
            op,
            text,
            tuple(arguments),
            None,
            "",
            add_nearest_fits(op, arguments, row.act, error.move_to_field("expression")),
        )
    parts = tuple(apply_operation(name, args) for name, args in (row.parts(*values) if row.parts else ()))
    return AlgebraStep(op, text, tuple(values), result, row.says(*values, result), None, parts)


def _format_call(op: str, row: Operation, arguments: Sequence[Value]) -> str:
    """Format a call with its arguments' values, template arguments in angle brackets."""
    in_brackets = row.called or len(arguments)
    template = f"<{','.join(map(format_value, arguments[in_brackets:]))}>" if arguments[in_brackets:] else ""
    return f"{op}{template}({', '.join(map(format_value, arguments[:in_brackets]))})"


def _check_arguments(op: str, row: Operation, arguments: Sequence[Value]) -> list[Value]:
    """Return the arguments, shapes as compact layouts; LayoutError for a wrong number, kind or size."""
    takes = f"{op}{row.signature}"
    if not row.least <= len(arguments) <= row.most:
        raise LayoutError(
            "bad_cute", f"{op} has {format_count(len(arguments), 'argument')}.", f"{takes}.", "expression"
        )
    values = list(arguments)
    for at, value in enumerate(values):
        kind = _find_kind(op, at)
        if kind is _LAYOUT and isinstance(value, int | tuple) and is_shape(value):
            values[at] = value = algebra.make_layout(value)
        if not kind.fits(value):
            raise LayoutError(
                "bad_cute",
                f"Argument {at + 1} of {op} is {shorten_value(format_value(value), 60)}, not {kind.name}.",
                f"{takes}.",
                "expression",
            )
        _check_size(value)
    return values


def _check_size(value: Value) -> None:
    """Raise LayoutError for a value with a layout that is too large to evaluate."""
    for layout in _collect_layouts(value):
        if layout.size > MOST_SIZE:
            why = f"{shorten_value(str(layout), 60)} has {layout.size} elements."
            raise LayoutError("too_large", why, f"At most {MOST_SIZE}.", "expression")


def _collect_layouts(value: Value) -> list[CuteLayout]:
    if isinstance(value, tuple):
        return [layout for item in value for layout in _collect_layouts(item)]
    return [value] if isinstance(value, CuteLayout) else []


def _find_kind(op: str, at: int) -> ArgumentKind:
    """Return the kind of an operation's argument at a position."""
    if kinds := OPS[op].kinds:
        return kinds[min(at, len(kinds) - 1)]
    if at == 0 or op in PAIRS:
        return _LAYOUT
    if op in NUMBERS:
        return _COUNT
    if (op, at) == ORDERED:
        return _ORDER
    if op == "coalesce":
        return _SIZES_OF_LAYOUT
    if op in SHAPES:
        return _SIZES
    return _TILER
