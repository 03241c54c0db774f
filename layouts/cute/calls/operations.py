"""CuTe's operations as a table: the arguments of each, the function that computes it and the one that describes it."""

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
from lanescope.inputs import shorten_value

MOST_SIZE = 1 << 16


def is_shape(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(is_shape, value))
    return isinstance(value, int) and value > 0


def _is_order(value: Value) -> bool:
    """Return whether a value ranks modes: the lowest number is first, from 0 or from 1."""
    return isinstance(value, tuple) and all(isinstance(item, int) and item >= 0 for item in value)


def _is_tiler(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_tiler, value))
    return value is None or isinstance(value, CuteLayout) or (isinstance(value, int) and value > 0)


def _is_coordinate(value: Value) -> bool:
    """Return whether a value is a coordinate: numbers, and underscores for whole modes."""
    return all(map(_is_coordinate, value)) if isinstance(value, tuple) else value is None or isinstance(value, int)


class ArgumentKind(NamedTuple):
    """What an argument must be: its name in a sentence, and whether a value is one."""

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
    """One operation. text: as it is called, arguments written out; result: None where it is refused, with error; parts:
    the steps that CuTe makes of it; name: what it is assigned to.
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
    """An operation: how many arguments it takes, the function that computes it, and the one that describes it in a
    sentence. kinds: what its arguments must be, the last for all further ones; () where the tables below say it.
    called: how many of them stand in the call's brackets, where the others are template arguments; 0 for all.
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


def _list_rowcol_parts(one: CuteLayout, _transposed: bool = False) -> list[tuple[str, tuple[Value, ...]]]:
    return [("logical_divide", (one, (2,)))] if one.modes[0].shape == 4 else []


def _list_aregs_parts(one: CuteLayout, bits: int = 16) -> list[tuple[str, tuple[Value, ...]]]:
    if one.modes[0].rank == 3:
        tiler = 2 if bits == 16 else algebra.make_layout((2, 2))
        return [("get", (one, 0, 2)), ("logical_divide", (one.modes[0].modes[2], tiler))]
    return [("logical_divide", (one, (None, None, 2)))]


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
NUMBERS = {"upcast", "downcast"}  # whose second argument is a number
ORDERED = ("tile_to_shape", 2)  # the argument that orders modes, as Step<_0,_1> and Step<_2,_1> do
SHAPES = {"complement", "coalesce", "with_shape", "tile_to_shape"}  # whose further arguments are sizes
PAIRS = {"blocked_product", "raked_product", "max_common_layout", "max_common_vector"}  # of two layouts


def apply_operation(op: str, given: Sequence[Value]) -> AlgebraStep:
    """Run one operation on values; a refusal is a step with its error."""
    row = OPS[op]
    text = _format_call(op, row, given)
    try:
        values = _check_arguments(op, row, given)
        made = row.act(*values)
    except LayoutError as error:
        return AlgebraStep(
            op, text, tuple(given), None, "", add_nearest_fits(op, given, row.act, error.move_to_field("expression"))
        )
    parts = tuple(apply_operation(name, args) for name, args in (row.parts(*values) if row.parts else ()))
    return AlgebraStep(op, text, tuple(values), result=made, says=row.says(*values, made), error=None, parts=parts)


def _format_call(op: str, row: Operation, given: Sequence[Value]) -> str:
    """Return a call with its arguments written out, template arguments in angle brackets."""
    called = row.called or len(given)
    template = f"<{','.join(map(format_value, given[called:]))}>" if given[called:] else ""
    return f"{op}{template}({', '.join(map(format_value, given[:called]))})"


def _check_arguments(op: str, row: Operation, given: Sequence[Value]) -> list[Value]:
    """Return arguments of the right kinds and of a size that is worked out; a shape becomes a compact layout."""
    takes = f"{op}{row.signature}"
    if not row.least <= len(given) <= row.most:
        raise LayoutError("bad_cute", f"{op} has {len(given)} arguments.", f"{takes}.", "expression")
    values = list(given)
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
    """Reject a value with a layout that is too large to work out."""
    for one in _collect_layouts(value):
        if one.size > MOST_SIZE:
            why = f"{shorten_value(str(one), 60)} has {one.size} elements."
            raise LayoutError("too_large", why, f"At most {MOST_SIZE}.", "expression")


def _collect_layouts(value: Value) -> list[CuteLayout]:
    if isinstance(value, tuple):
        return [one for item in value for one in _collect_layouts(item)]
    return [value] if isinstance(value, CuteLayout) else []


def _find_kind(op: str, at: int) -> ArgumentKind:
    """Return what the argument of an operation at a position must be."""
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
