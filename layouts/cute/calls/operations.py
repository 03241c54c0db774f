"""The table of CuTe's operations: arguments, the function that computes the result, and the one that describes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lanescope.cute import algebra, tuples
from lanescope.cute.calls import sentences
from lanescope.cute.calls.fits import add_nearest_fits
from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.calls.sentences import Value, format_value
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, shorten_value

MOST_SIZE = 1 << 16
MOST_ARGUMENTS = 9


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
_COORDINATE = ArgumentKind("a coordinate", tuples.is_coordinate)


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

    act: computes the result; says: a sentence about it, or what describes it in one; kinds: those of its arguments, of
    which the last `optional` may be left out; further: the kind of any that follow; parts: the operations that define
    it; called: how many arguments are in parentheses, the others being template arguments; 0 for all.
    """

    act: Callable[..., Value]
    says: str | Callable[..., str]
    signature: str = "(layout)"
    kinds: tuple[ArgumentKind, ...] = (_LAYOUT,)
    optional: int = 0
    further: ArgumentKind | None = None
    parts: Callable[..., Sequence[tuple[str, tuple[Value, ...]]]] | None = None
    called: int = 0

    def takes(self, count: int) -> bool:
        """Return whether it can have so many arguments."""
        return len(self.kinds) - self.optional <= count <= (MOST_ARGUMENTS if self.further else len(self.kinds))

    def list_kinds(self, count: int) -> list[ArgumentKind]:
        """Return the kinds of so many arguments."""
        return [*self.kinds, *([self.further] if self.further else []) * count][:count]

    def describe(self, *values: Value) -> str:
        """Return a sentence about the result, the last of the values."""
        return self.says if isinstance(self.says, str) else self.says(*values)


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
    act, says = getattr(algebra, f"{word}_{of}"), sentences.make_regrouping_description(word, of)
    return Operation(act, says, "(layout, tiler)", _TILED, parts=_make_single_part(f"logical_{of}"))


def _measure(name: str, layout: CuteLayout) -> Value:
    return MODE_FUNCTIONS[name]((layout,), ())


_TILED, _PAIR = (_LAYOUT, _TILER), (_LAYOUT, _LAYOUT)
OPS: dict[str, Operation] = {
    "composition": Operation(algebra.composition, sentences.describe_composition, "(layout, layout or tiler)", _TILED),
    "complement": Operation(
        lambda a, target=None: algebra.complement(a, target.shape if isinstance(target, CuteLayout) else target),
        lambda a, *rest: sentences.describe_complement(a, rest[0] if len(rest) > 1 else None, rest[-1]),
        "(layout, size or shape)",
        (_LAYOUT, _SIZES),
        optional=1,
    ),
    "coalesce": Operation(
        algebra.coalesce,
        lambda a, *rest: sentences.describe_coalesce(a, rest[0] if len(rest) > 1 else None, rest[-1]),
        "(layout, profile)",
        (_LAYOUT, _SIZES_OF_LAYOUT),
        optional=1,
    ),
    "filter": Operation(algebra.filter_layout, "Modes of stride 0 and of size 1 go."),
    "flatten": Operation(algebra.flatten, "The same modes without nesting."),
    "logical_divide": Operation(
        algebra.logical_divide, sentences.describe_divide, "(layout, tiler)", _TILED, parts=_list_divide_parts
    ),
    "logical_product": Operation(
        algebra.logical_product, sentences.describe_product, "(layout, tiler)", _TILED, parts=_list_product_parts
    ),
    "blocked_product": Operation(algebra.blocked_product, sentences.describe_blocked, "(block, tiler)", _PAIR),
    "raked_product": Operation(algebra.raked_product, sentences.describe_raked, "(block, tiler)", _PAIR),
    "right_inverse": Operation(algebra.right_inverse, sentences.describe_right_inverse),
    "left_inverse": Operation(algebra.left_inverse, sentences.describe_left_inverse),
    "nullspace": Operation(algebra.nullspace, "The coordinates that all give index 0."),
    "max_common_layout": Operation(
        algebra.max_common_layout, "The most elements contiguous from 0 in both.", "(a, b)", _PAIR
    ),
    "max_common_vector": Operation(
        algebra.max_common_vector, "How many elements are contiguous from 0 in both.", "(a, b)", _PAIR
    ),
    "upcast": Operation(
        algebra.upcast, lambda a, n, _: f"Elements {n} times as wide.", "<n>(layout)", (_LAYOUT, _COUNT)
    ),
    "downcast": Operation(
        algebra.downcast, lambda a, n, _: f"Elements a {n}th as wide.", "<n>(layout)", (_LAYOUT, _COUNT)
    ),
    "with_shape": Operation(
        algebra.with_shape,
        "The same indices, with coordinates of another shape.",
        "(layout, shape)",
        (_LAYOUT, _SIZES),
    ),
    "tile_to_shape": Operation(
        algebra.tile_to_shape,
        "The block repeated until it has the shape.",
        "(block, shape, order)",
        (_LAYOUT, _SIZES, _ORDER),
        optional=1,
    ),
    **{
        name: Operation(partial(_measure, name), says)
        for name, says in (
            ("size", "The number of coordinates."),
            ("cosize", "One more than the greatest index."),
            ("rank", "The number of modes."),
            ("depth", "How deep the modes are nested."),
            ("shape", "Its sizes."),
            ("stride", "Its steps."),
        )
    },
    "get": Operation(
        algebra.get_mode,
        lambda a, *at: f"Mode {', '.join(map(str, at[:-1]))} of the layout: its shape and its strides.",
        "<mode, …>(layout)",
        (_LAYOUT, _INDEX),
        further=_INDEX,
        called=1,
    ),
    "make_layout_like": Operation(algebra.make_layout_like, "Compact strides, in the order of the strides."),
    "make_fragment_like": Operation(algebra.make_fragment_like, sentences.describe_fragment, "(partition)"),
    "retile": Operation(
        algebra.retile,
        sentences.describe_retile,
        "(fragment, thread-value layout, tiler, values of an atom)",
        (_LAYOUT, _LAYOUT, _TILER, _COUNT),
    ),
    "convert_layout_acc_rowcol": Operation(
        algebra.convert_layout_acc_rowcol,
        sentences.describe_rowcol,
        "<Transposed>(accumulator)",
        (_LAYOUT, _FLAG),
        optional=1,
        parts=_list_rowcol_parts,
        called=1,
    ),
    "convert_layout_acc_Aregs": Operation(
        algebra.convert_layout_acc_aregs,
        sentences.describe_aregs,
        "<bits of A>(accumulator)",
        (_LAYOUT, _COUNT),
        optional=1,
        parts=_list_aregs_parts,
        called=1,
    ),
    "create_tma_multicast_mask": Operation(
        algebra.create_tma_multicast_mask,
        sentences.describe_multicast,
        "<mode, …>(layout of the CTAs, coordinate)",
        (_LAYOUT, _COORDINATE),
        further=_INDEX,
        called=2,
    ),
    **{
        f"{word}_{of}": _make_grouped_op(word, of)
        for of in ("divide", "product")
        for word in ("zipped", "tiled", "flat")
    },
}
ALIASES = {
    "make_tensor_like": "make_layout_like",
    "inverse": "right_inverse",
    "compose": "composition",
    "divide": "logical_divide",
    "retile_S": "retile",
    "retile_D": "retile",
}


def apply_operation(op: str, arguments: Sequence[Value]) -> AlgebraStep:
    """Return the step of one operation on values, with an error if it fails."""
    row = OPS[op]
    text = _format_call(op, row, arguments)
    try:
        values = check_arguments(op, arguments)
        for value in values:
            _check_size(value)
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
    return AlgebraStep(op, text, tuple(values), result, row.describe(*values, result), None, parts)


def _format_call(op: str, row: Operation, arguments: Sequence[Value]) -> str:
    """Format a call with its arguments' values, template arguments in angle brackets."""
    in_brackets = row.called or len(arguments)
    template = f"<{','.join(map(format_value, arguments[in_brackets:]))}>" if arguments[in_brackets:] else ""
    return f"{op}{template}({', '.join(map(format_value, arguments[:in_brackets]))})"


def check_arguments(op: str, arguments: Sequence[Value]) -> list[Value]:
    """Return the arguments, shapes as compact layouts; LayoutError for a wrong number or kind."""
    row = OPS[op]
    takes = f"{op}{row.signature}"
    if not row.takes(len(arguments)):
        raise LayoutError(
            "bad_cute", f"{op} has {format_count(len(arguments), 'argument')}.", f"{takes}.", "expression"
        )
    values = list(arguments)
    for at, (value, kind) in enumerate(zip(arguments, row.list_kinds(len(arguments)), strict=True)):
        if kind is _LAYOUT and isinstance(value, int | tuple) and is_shape(value):
            values[at] = value = algebra.make_layout(value)
        if not kind.fits(value):
            raise LayoutError(
                "bad_cute",
                f"Argument {at + 1} of {op} is {shorten_value(format_value(value), 60)}, not {kind.name}.",
                f"{takes}.",
                "expression",
            )
    return values


def _check_size(value: Value) -> None:
    """Raise LayoutError for a value with a layout that is too large to evaluate."""
    for layout in tuples.list_leaves(value):
        if isinstance(layout, CuteLayout) and layout.size > MOST_SIZE:
            why = f"{shorten_value(str(layout), 60)} has {layout.size} elements."
            raise LayoutError("too_large", why, f"At most {MOST_SIZE}.", "expression")
