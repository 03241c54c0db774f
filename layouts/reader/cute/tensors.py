"""Compute the shapes of CuTe's tensors and of their tiles, partitions, slices and fragments.

Supported are local_tile, local_partition, slices, fragments of a TiledMMA and partitions of a TiledCopy. A size that
the text does not determine stays open.

CUTLASS 4.7: cute/tensor_impl.hpp (local_tile is inner_partition, local_partition outer_partition), and
cute/atom/mma_atom.hpp and copy_atom.hpp (thrfrg and tidfrg: the atom's values, then its repeats in each mode).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, list_leaves, map_leaves
from lanescope.cute.words import UNDERSCORES
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.reader.cute import constants, tiled_copy, tiled_mma
from lanescope.reader.cute.smem_layouts import find_known_layout
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.grammar import SyntaxTerm, Value
from lanescope.reader.grammars.terms import TermText
from lanescope.reader.meaning import TextMeaning
from lanescope.tiles.arguments import parse_atom_layout
from lanescope.tiles.atoms import make_mma_atom
from lanescope.tiles.mma import SIDES

OPEN = "?"  # an unknown size
_OF_MMA = re.compile(r"partition_(?:fragment_|shape_)?([ABC])")
_OF_COPY = re.compile(r"(partition|retile)_([SD])")
_SLICES = frozenset(("get_slice", "get_thread_slice", "get_thr_slice"))
_CUT = re.compile(
    r"(?<![\w.:])(?:\w+(?:::|\.)){0,6}(?:partition_fragment_[ABC]|partition_[ABCSD]|retile_[SD]|local_tile"
    r"|local_partition)\s*\("
)
_ASSIGNED = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\s*=\s*\Z")
_MOST_DEEP = 24
_MOST_SENTENCES = 16


@dataclass(frozen=True, slots=True)
class TensorShape:
    """The shape of a tensor. tile: for a fragment, the sizes of the operand's tile.

    layout: coordinate → index in memory, or coordinate → register for a fragment; None if unknown.
    """

    shape: tuple[Any, ...]
    tile: tuple[Any, ...] = ()
    layout: CuteLayout | None = None

    @property
    def known(self) -> bool:
        return all(isinstance(leaf, int) for leaf in list_leaves(self.shape))


def parse_tensor(home: TermText, value: Value, depth: int = 0) -> TensorShape | None:
    """Return the shape of a tensor; None if the value is not a tensor or its rank is unknown."""
    if depth > _MOST_DEEP or not isinstance(value, SyntaxTerm):
        return None
    sliced = _parse_slice(home, value, depth)
    if sliced is not None:
        return sliced
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm) or not value.args:
        return _parse_slice(home, value, depth) if isinstance(value, SyntaxTerm) else None
    if value.name == "make_tensor":
        return _parse_make_tensor(home, value)
    if value.name in ("make_fragment_like", "make_tensor_like"):
        return parse_tensor(home, value.args[0], depth + 1)
    if value.name in ("make_identity_tensor", "make_counting_tensor"):
        return _make_shape(home, value.args[0])
    if value.name == "local_tile":
        return _cut_tile(home, value, depth)
    if value.name == "local_partition":
        return _cut_threads(home, value, depth)
    if match := _OF_MMA.fullmatch(value.name):
        return _cut_fragment(home, value, match[1], depth)
    if match := _OF_COPY.fullmatch(value.name):
        return _cut_copy(home, value, match[1], depth)
    return _parse_slice(home, value, depth)


def _make_shape(home: TermText, value: Value) -> TensorShape | None:
    shape = _list_open_symbols(constants.parse_plain_shape(home, value))
    return TensorShape(shape) if isinstance(shape, tuple) else None


def _list_open_symbols(shape: Any) -> Any:
    """Return a shape with symbols replaced by OPEN."""
    return map_leaves(lambda size: size if isinstance(size, int) else OPEN, shape)


def _parse_make_tensor(home: TermText, value: SyntaxTerm) -> TensorShape | None:
    """Parse make_tensor(pointer, layout), make_tensor(pointer, shape, stride) and make_tensor<T>(layout)."""
    args = value.args or ()
    at = 0 if value.angle else 1
    if len(args) <= at:
        return None
    tensor = _make_shape(home, args[at])
    if tensor is not None:
        layout = find_known_layout(home, args[at], 16) if len(args) == at + 1 else None
        return replace(tensor, layout=layout if layout is not None and layout.shape == tensor.shape else None)
    # the element's bits may change the strides, but not the modes and sizes
    layout, other = (find_known_layout(home, args[at], bits) for bits in (16, 8))
    if layout is None or not isinstance(layout.shape, tuple):
        return None
    return TensorShape(layout.shape, layout=layout if layout == other else None)


def _list_sizes(shape: tuple[Any, ...]) -> list[Any]:
    """Return the size of each mode, OPEN if unknown."""
    sizes = (find_size(mode) for mode in shape)
    return [OPEN if size is None else size for size in sizes]


def _is_underscore(home: TermText, value: Value) -> bool:
    value = home.resolve_value(value)
    return value is None or (isinstance(value, SyntaxTerm) and value.name in UNDERSCORES and not value.args)


def _parse_slice(home: TermText, value: SyntaxTerm, depth: int) -> TensorShape | None:
    """Parse tensor(_, _, 0), which keeps the modes at the underscores."""
    args = value.args or ()
    if (
        len(args) < 2
        or value.angle
        or value.owner is not None
        or not any(_is_underscore(home, argument) for argument in args)
    ):
        return None
    tensor = parse_tensor(home, SyntaxTerm(value.path, span=value.span), depth + 1)
    if (
        tensor is None
        or len(tensor.shape) != len(args)
        or any(constants.parse_items(home, argument) is not None for argument in args)
    ):
        return None
    modes = tuple(mode for mode, coordinate in zip(tensor.shape, args, strict=True) if _is_underscore(home, coordinate))
    return TensorShape(modes, tensor.tile if len(modes) >= 3 else ())


def _project(home: TermText, items: Sequence[Any] | None, projection: Value) -> list[Any] | None:
    """Return the items of a tiler or a coordinate that a projection such as Step<_1, X, _1> keeps."""
    if items is None or projection is None:
        return None if items is None else list(items)
    steps = constants.parse_items(home, projection)
    if steps is None or len(steps) != len(items):
        return None
    return [item for item, step in zip(items, steps, strict=True) if not _is_underscore(home, step)]


def _cut_tile(home: TermText, value: SyntaxTerm, depth: int) -> TensorShape | None:
    """Parse local_tile(tensor, tiler, coordinate, projection): the tile's modes, then the rest at the underscores."""
    args = value.args or ()
    if len(args) not in (3, 4):
        return None
    tiler, where = (_project(home, constants.parse_items(home, argument), (*args, None)[3]) for argument in args[1:3])
    if tiler is None or where is None or len(where) > len(tiler):
        return None
    tile = [home.parse_number(size) for size in tiler]
    tensor = parse_tensor(home, args[0], depth + 1)
    sizes = _list_sizes(tensor.shape) if tensor is not None else [OPEN] * len(tile)
    if len(sizes) < len(tile) or (tensor is None and len(where) != len(tile)):
        return None
    rest = [_divide_shape(size, part) for size, part in zip(sizes, tile, strict=False)] + sizes[len(tile) :]
    kept_sizes = _keep_sizes(home, rest, where)
    return TensorShape((*_list_open_symbols(tuple(tile)), *kept_sizes)) if kept_sizes is not None else None


def _keep_sizes(home: TermText, sizes: list[Any], where: list[Value]) -> list[Any] | None:
    """Return the sizes that a coordinate keeps; None if it has more modes than the tensor."""
    if any(not _is_underscore(home, coordinate) for coordinate in where[len(sizes) :]):
        return None
    return [size for size, coordinate in zip(sizes, where, strict=False) if _is_underscore(home, coordinate)] + sizes[
        len(where) :
    ]


def _divide_shape(size: Any, part: Any) -> Any:
    """Return the number of parts of a mode, a partial last one included."""
    return -(-size // part) if isinstance(size, int) and isinstance(part, int) and part > 0 else OPEN


def _cut_threads(home: TermText, value: SyntaxTerm, depth: int) -> TensorShape | None:
    """Parse local_partition(tensor, thread layout, index, projection): one element of each tile of the threads'
    shape.
    """
    args = value.args or ()
    tensor = parse_tensor(home, args[0], depth + 1) if len(args) in (3, 4) else None
    shape = constants.parse_plain_shape(home, args[1]) if tensor is not None else None
    if tensor is None or not isinstance(shape, tuple):
        return None
    threads = _project(home, _list_sizes(_list_open_symbols(shape)), (*args, None)[3])
    sizes = _list_sizes(tensor.shape)
    if threads is None or len(threads) > len(sizes):
        return None
    cut = [_divide_shape(size, count) for size, count in zip(sizes, threads, strict=False)]
    return TensorShape((*cut, *sizes[len(threads) :]))


def _split_owner(value: SyntaxTerm) -> tuple[Value, tuple[Value, ...]]:
    """Return (object, arguments) of a member call; a slice made in place comes before the arguments."""
    args = value.args or ()
    if value.owner is None and args and isinstance(args[0], SyntaxTerm) and args[0].name in _SLICES:
        return args[0], args[1:]
    return value.owner, args


def _find_tiled_owner(home: TermText, owner: Value) -> Value:
    """Return the TiledMMA or TiledCopy of a thread's slice."""
    value = home.resolve_value(owner)
    if isinstance(value, SyntaxTerm) and value.name in _SLICES:
        return value.owner if value.owner is not None else (value.args or (None,))[0]
    return value


def _cut_fragment(home: TermText, value: SyntaxTerm, letter: str, depth: int) -> TensorShape | None:
    """Parse partition_A and partition_fragment_A of a thread's slice, and partition_fragment_C(mma, shape)."""
    owner, args = _split_owner(value)
    if owner is not None and len(args) == 1:
        mma = tiled_mma.find_tiled_mma(home, _find_tiled_owner(home, owner))
        tensor_shape = parse_tensor(home, args[0], depth + 1)
    elif len(args) == 2:
        mma, tensor_shape = tiled_mma.find_tiled_mma(home, args[0]), _make_shape(home, args[1])
    else:
        return None
    if mma is None or tensor_shape is None or len(tensor_shape.shape) < 2:
        return None
    cut = _cut_operand(mma, _list_sizes(tensor_shape.shape), letter)
    if cut is None or "fragment" not in value.name:
        return cut
    return replace(cut, layout=_make_registers(mma, letter, tensor_shape))


def _cut_operand(mma: TextMeaning, sizes: list[Any], letter: str) -> TensorShape | None:
    """Return a thread's fragment of an operand of these sizes: the atom's values, then the repeats of the atoms."""
    atom, shape = mma.facts["body"]["atom"], mma.facts["atom_mnk"]
    if not atom or not shape or "atom_layout" in mma.undetermined or len(mma.facts["candidates"]) != 1:
        return None
    try:
        mma_atom = make_mma_atom(atom)
        counts = [mode.size for mode in parse_atom_layout(mma.facts["body"]["atom_layout"]).modes]
    except LayoutError:
        return None
    if letter.lower() in mma_atom.shared:
        return None
    rests = [_repeat_mode(sizes[at], shape[n] * counts[n]) for at, n in enumerate(SIDES[letter.lower()])]
    values = mma_atom.layouts[letter.lower()].modes[1].shape
    return TensorShape((values, *rests, *sizes[2:]), tuple(sizes[:2]))


def _make_registers(mma: TextMeaning, letter: str, tensor_shape: TensorShape) -> CuteLayout | None:
    """Return the layout of a fragment's registers; None if the TiledMMA or the strides of A and B are unknown."""
    from lanescope.tiles.fragments import make_fragment  # tiled_mma imports this package
    from lanescope.tiles.mma import TiledMMA
    from lanescope.tiles.tiled_mma import tiled_mma as build_tiled_mma

    body = mma.facts["body"]
    tensor = tensor_shape.layout
    if letter == "C" and tensor_shape.known and len(tensor_shape.shape) == 2:
        tensor = algebra.make_layout(tensor_shape.shape)
    if tensor is None or "permutation" in mma.undetermined:
        return None
    try:
        tiled = build_tiled_mma(body["atom"], body["atom_layout"], body["permutation"])
        return make_fragment(tiled, letter, tensor).registers if isinstance(tiled, TiledMMA) else None
    except LayoutError:
        return None


def _repeat_mode(size: Any, step: int) -> Any:
    return size // step if isinstance(size, int) and size % step == 0 else OPEN


def _cut_copy(home: TermText, value: SyntaxTerm, way: str, depth: int) -> TensorShape | None:
    """Parse partition_S, partition_D, retile_S and retile_D of a thread's slice of a TiledCopy."""
    owner, args = _split_owner(value)
    if owner is None or len(args) != 1:
        return None
    copy = tiled_copy.find_tiled_copy(home, _find_tiled_owner(home, owner))
    tensor = parse_tensor(home, args[0], depth + 1)
    if copy is None or tensor is None or len(tensor.shape) < 2:
        return None
    tiler, values = copy.facts["tiler_mn"], copy.facts["values_per_thread"]
    sizes = list(tensor.tile) if way == "retile" else _list_sizes(tensor.shape)
    if not tiler or len(tiler) != 2 or not values or len(sizes) < 2:
        return None
    if way == "partition" and copy.facts["body"]["atom"] not in ("universal", "cp.async"):
        values = OPEN  # a lane of ldmatrix passes the address of a row, so its source values are not those it receives
    rests = [_repeat_mode(size, step) for size, step in zip(sizes[:2], tiler, strict=True)]
    more = tensor.shape[3:] if way == "retile" else tensor.shape[2:]
    return TensorShape((values, *rests, *more))


def _parse_shape(home: TermText, value: Value) -> Any:
    tensor = parse_tensor(home, value)
    return tensor.shape if tensor is not None else None


constants.SHAPES.append(_parse_shape)


# sentences ------------------------------------------------------------------------------------------------------------


def describe_cuts(text: str) -> tuple[str, ...]:
    """Return sentences on the tiles, partitions and fragments with known shapes, without repeats."""
    if not _CUT.search(text):
        return ()
    home = terms.make_term_text(text)
    return tuple(dict.fromkeys(_list_sentences(home)))[:_MOST_SENTENCES]


def _list_sentences(home: TermText) -> Iterator[str]:
    for term in terms.find_terms(home, _CUT):
        tensor = parse_tensor(home, term)
        if tensor is None or not tensor.known:
            continue
        line = home.text[max(0, term.span[0] - 80) : term.span[0]]
        named = _ASSIGNED.search(line)
        name = f"{named[1]} = " if named else ""
        count = find_size(tensor.shape)
        sizes = join_words([str(size) for size in _list_sizes(tensor.shape)])
        what = " of each thread" if "local_tile" not in term.name else ""
        registers = f" Registers {tensor.layout}." if tensor.layout is not None and "fragment" in term.name else ""
        yield f"{name}{term.name}: modes of {sizes}, {count:,} elements{what}.{registers}"


def add_cuts(text: str, meanings: list[TextMeaning]) -> list[TextMeaning]:
    """Return the meanings of a text, with sentences on its tiles added to the first TiledMMA or TiledCopy."""
    at = next(
        (n for kind in ("tiled_mma", "tiled_copy") for n, meaning in enumerate(meanings) if meaning.kind == kind), None
    )
    sentences = describe_cuts(text) if at is not None else ()
    if at is None or not sentences:
        return meanings
    first = replace(meanings[at], notices=(*meanings[at].notices, *sentences))
    return [*meanings[:at], first, *meanings[at + 1 :]]
