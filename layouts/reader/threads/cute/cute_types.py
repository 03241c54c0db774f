"""Values of CuTe's types: a type determines the value that T{} has, so that both are the same here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import map_leaves
from lanescope.cute.words import CONSTANTS, INTEGERS, TUPLES
from lanescope.errors import LayoutError
from lanescope.ptx.table.kinds import MAJORS
from lanescope.reader.code.cute.cute_atoms import make_canonical_atom
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.cute.smem_atoms import parse_atom_name
from lanescope.reader.cutlass_names.cutlass import find_warp_shape
from lanescope.reader.threads.cute.async_mma import AsyncMma, find_async_mma, make_async_mma
from lanescope.reader.threads.cute.bulk import TileCopy, TmaCopy
from lanescope.reader.threads.cute.layouts import make_strided, require_plain
from lanescope.reader.threads.cute.open_strides import is_open_extent
from lanescope.reader.threads.cute.tensor_tiles import TensorLoad
from lanescope.reader.threads.cute.tensors import UNDERSCORE, CuteTensor, Underscore
from lanescope.reader.threads.cute.tiled import (
    PLAIN_COPIES,
    CopyOperation,
    CuteCopy,
    ElementCopy,
    MmaAtomName,
    ScalarMma,
    ThreadSlice,
    make_element_copy,
    make_tiled_mma,
)
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_name, make_number
from lanescope.reader.threads.language.program import LaterValue, Scope, parse_expression
from lanescope.reader.threads.language.types import SizedType
from lanescope.shared.swizzle import Swizzle
from lanescope.tiles.mma import TiledMMA

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_TURNS = 256  # of a sequence
_CONSTANT = re.compile(r"_(\d{1,9})")
_COPY = re.compile(r"SM\d+_(?:CP_ASYNC\w*|\w*(?:LDSM|STSM)_\w+)|" + "|".join(PLAIN_COPIES))
_SCALES = ("Zero", "One")
_WRAPPERS = frozenset("MMA_Atom MMA_Traits Copy_Traits remove_cvref_t remove_cv_t decay_t remove_reference_t".split())
_DECLTYPE = re.compile(r"decltype\((.*)\)", re.S)
CUTE_VALUES = (
    CuteTensor, CuteLayout, Swizzle, tuple, Underscore, CopyOperation, ElementCopy, CuteCopy, TiledMMA,
    MmaAtomName, ScalarMma, ThreadSlice, TmaCopy, TileCopy, TensorLoad, AsyncMma,
)  # fmt: skip


def is_cute_value(value: Any) -> bool:
    return _is_cute_class(value.__class__)


@cache
def _is_cute_class(kind: type) -> bool:
    return issubclass(kind, CUTE_VALUES)


def simplify(value: Any) -> Any:
    """Return a number as an int if all threads know it."""
    if isinstance(value, ThreadNumber):
        known = value.known
        return value if known is None else known
    return value


def expose(value: Any, at: tuple[int, int] | None = None) -> Any:
    """Return a value of CuTe as device code has it: an integer is a number, an open extent a symbol. at: the call."""
    if not isinstance(value, int):
        return value
    if not is_open_extent(value):
        return make_number(value)
    return make_name(f"extent at {at[0]}", LONG) if at is not None else None


def evaluate_type(run: KernelRunner, type_: tree.Type, scope: Scope) -> Any:
    """Return the value of a type of CuTe, a SizedType for an element type; None for other types."""
    if type_.pointers or type_.dims or not names_cute(run.text):
        return None
    return evaluate_path(run, type_.path, scope)


def evaluate_path(run: KernelRunner, path: tree.Path, scope: Scope) -> Any:
    """Return the value of a name or a type that nothing in the text declares; None if it is none of CuTe's."""
    parts = [part for part in path if part[0] not in ("", "std", "cute", "cutlass", "SM90", "GMMA", "UMMA", "detail")]
    if not parts:
        return None
    name, arguments = parts[-1]
    if len(parts) > 1 and not find_constant(name):
        return _evaluate_member(run, tuple(parts[:-1]), name, scope)
    inner = _DECLTYPE.fullmatch(name)
    if inner:
        expression = parse_expression(inner[1])
        return _evaluate_decltype(run, expression, scope) if expression is not None else None
    if name == "decltype" and arguments:
        return _evaluate_decltype(run, arguments[0], scope)
    return _evaluate_named(run, name, arguments or (), scope)


def _evaluate_member(run: KernelRunner, owner: tree.Path, name: str, scope: Scope) -> Any:
    """Return the value of owner::name."""
    if owner[-1][0] == "Major" and name in MAJORS:
        return make_number(MAJORS[name])
    if owner[-1][0] == "ScaleOut" and name in _SCALES:
        return make_number(_SCALES.index(name))
    found = _evaluate_owner(run, owner, scope)
    if name in ("value", "type"):
        return None if isinstance(found, SizedType) and name == "value" else expose(found)
    return find_member_type(run, found, name)


def _evaluate_owner(run: KernelRunner, path: tree.Path, scope: Scope) -> Any:
    found = run.resolve(path, scope)
    return found if found is not None else evaluate_path(run, path, scope)


def _evaluate_decltype(run: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return the type of an expression: its value, or the declared type of a name."""
    if isinstance(node, tree.Type):
        return run.evaluate_template(node, scope)
    if isinstance(node, tree.Name) and len(node.path) == 1:
        try:
            found = scope.find(node.last)
        except KeyError:
            found = None
        statement = found.statement if isinstance(found, LaterValue) else None
        if isinstance(statement, tree.Declaration) and statement.value is None and statement.type is not None:
            return run.evaluate_template(statement.type, found.home or scope)
        if hasattr(found, "space") and hasattr(found, "type"):
            return found.type if found.type.scope is not None else run.evaluate(node, scope)
    return run.evaluate(node, scope)


def _evaluate_named(run: KernelRunner, name: str, arguments: Sequence[tree.Expression], scope: Scope) -> Any:
    """Return the value of a type or constant by its own name."""
    plain = None if arguments and _COPY.fullmatch(name) else find_constant(name)
    if plain is not None:
        return plain

    def evaluate(n: int) -> Any:
        return simplify(run.evaluate_template(arguments[n], scope)) if n < len(arguments) else None

    if name in _WRAPPERS and arguments:
        return evaluate(0)
    if name in INTEGERS and arguments:
        return expose(evaluate(len(arguments) - 1))
    values = [evaluate(n) for n in range(len(arguments))]
    if name in TUPLES and not name.startswith("make_"):
        return tuple(values)
    if name in _TRAITS and len(values) == _TRAITS[name][0]:
        return expose(_TRAITS[name][1](*values))
    try:
        return _make_type(run, name, values)
    except LayoutError:
        return None


def _are_same(left: Any, right: Any) -> int | None:
    known = isinstance(left, SizedType) and isinstance(right, SizedType)
    return int(left.name.lstrip("_") == right.name.lstrip("_")) if known else None  # half is __half


def _choose_type(chosen: Any, yes: Any, no: Any) -> Any:
    return (yes if chosen else no) if isinstance(chosen, int) else None


def names_trait(path: tree.Path) -> bool:
    """Return whether a path is of a type trait: std::is_same_v<…>, std::conditional<…>::type."""
    return any(name in _TRAITS for name, arguments in path[-2:] if arguments)


_TRAITS: dict[str, tuple[int, Callable[..., Any]]] = {  # the number of their arguments
    **dict.fromkeys(("conditional_t", "conditional"), (3, _choose_type)),
    **dict.fromkeys(("is_same_v", "is_same"), (2, _are_same)),
    "cosize_v": (1, lambda layout: layout.cosize if isinstance(layout, CuteLayout) else None),
}


def find_constant(name: str) -> Any:
    """Return the value of `_`, `_8`, X and GenRowMajor; None for other names."""
    if match := _CONSTANT.fullmatch(name):
        return make_number(int(match[1]))
    if name in CONSTANTS:
        return CONSTANTS[name] or UNDERSCORE
    if find_warp_shape(name) is not None:
        return MmaAtomName(name)
    if _COPY.fullmatch(name) and name not in PLAIN_COPIES[:1]:
        return CopyOperation(name)
    return None


def _make_type(run: KernelRunner, name: str, values: list[Any]) -> Any:
    """Make the value of a class template of CuTe."""
    if (mma := find_async_mma(name, values)) is not None:
        return mma
    if _COPY.fullmatch(name) and values:
        return CopyOperation(name, get_bits(values[0]) or 0)
    major = next((word for word, code in MAJORS.items() if values[1:2] == [code]), "")
    if (atom := parse_atom_name(name, major)) and not atom.base32 and not atom.sparse:
        bits = 1 if atom.in_bits else get_bits(values[0]) if values else None
        return algebra.swizzle_elements(make_canonical_atom(atom, bits)) if bits else None
    act = _TEMPLATES.get(name)
    try:
        return act(run, *values) if act is not None else None
    except (TypeError, OpenCuteValueError):  # another number of arguments, or values that CuTe does not compile
        return None


def _make_layout_type(run: KernelRunner, shape: Any, stride: Any = "left") -> Any:
    return make_strided(run, shape, stride)


def _make_copy_atom(run: KernelRunner, operation: Any, element: Any) -> Any:
    bits = get_bits(element)
    return make_element_copy(operation, bits) if isinstance(operation, CopyOperation) and bits else None


def make_mma(atom: Any, atoms: Any = (1, 1, 1), tilers: Any = ()) -> Any:
    """Return TiledMMA<atom, atoms, tilers>."""
    layout = require_plain(atoms)
    if isinstance(atom, ScalarMma):
        return ScalarMma(layout.size)
    if isinstance(atom, AsyncMma):
        return make_async_mma(atom, layout)
    return make_tiled_mma(atom, layout, make_tilers(tilers)) if isinstance(atom, MmaAtomName) else None


def _make_array(run: KernelRunner, element: Any, count: Any, *alignment: Any) -> Any:
    return replace(element, dims=(count,)) if isinstance(element, SizedType) and isinstance(count, int) else None


def _make_sequence(run: KernelRunner, count: Any, past: Any = None) -> Any:
    """Return make_int_sequence<count>, make_seq<count> or make_range<begin, end>."""
    first, last = (0, count) if past is None else (count, past)
    known = isinstance(first, int) and isinstance(last, int) and last - first <= MOST_TURNS
    return tuple(range(first, last)) if known else None


_TEMPLATES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("make_int_sequence", "make_seq", "make_range"), _make_sequence),
    "UniversalFMA": lambda run, *types: ScalarMma(),
    "Layout": _make_layout_type,
    **{name: lambda run, *values, name=name: call_function(name, values) for name in ("Swizzle", "ComposedLayout")},
    "Copy_Atom": _make_copy_atom,
    "TiledMMA": lambda run, *values: make_mma(*values),
    **dict.fromkeys(("ArrayEngine", "array", "array_aligned"), _make_array),
}


def make_tilers(value: Any) -> tuple[Any, ...]:
    """Return a permutation or a tiler with None for its underscores."""
    return tuple(None if item is UNDERSCORE else item for item in value) if isinstance(value, tuple) else (value,)


def get_bits(value: Any) -> int | None:
    """Return the bits of an element type, or of an integer that stands for one (Copy_Atom<…, Int<16>>)."""
    if isinstance(value, SizedType):
        return value.size * 8
    return value if isinstance(value, int) else None


def find_member_type(run: KernelRunner, owner: Any, name: str) -> Any:
    """Return a member type of a value of CuTe: Shape_MNK, value_type; None if it is not followed."""
    if name in ("Shape_MNK", "AtomShape_MNK", "TiledShape_MNK"):
        if isinstance(owner, MmaAtomName):
            return find_warp_shape(owner.name)
        if isinstance(owner, TiledMMA):
            return owner.atom.shape if name == "AtomShape_MNK" else owner.shape
    if name in ("AtomThrID", "ThrID") and isinstance(owner, AsyncMma):
        return algebra.make_layout(owner.threads_of_atom)
    if name in ("value_type", "element_type") and isinstance(owner, CuteTensor):
        return owner.element
    return None


def make_cute_argument(run: KernelRunner, type_: tree.Type, scope: Scope) -> Any:
    """Return the argument of a kernel whose type is CuTe's; in a run with known sizes, open numbers have those by their
    names.
    """
    value = simplify(run.evaluate_template(type_, scope))
    return _close_numbers(run, value) if is_cute_value(value) or isinstance(value, int | ThreadNumber) else None


def _is_pitch(run: KernelRunner, strides: tuple[Any, ...], number: Any) -> bool:
    """Return whether a number of two strides, of which the other is 1, is a name that has no known size, which
    make_strided chooses.
    """
    if len(strides) != 2 or 1 not in strides:
        return False
    names = [name for term in number.terms for name in term] if isinstance(number, ThreadNumber) else []
    return len(names) == 1 and run.sizes is not None and names[0] not in run.sizes


def _find_size(run: KernelRunner, number: ThreadNumber) -> int:
    """Return the known size that a number is by its name, such as M of make_shape(M, N, K)."""
    assert run.sizes is not None
    name = "·".join(" ".join(term) for term in number.terms)
    if name not in run.sizes:
        run.unsized.add(name)
        return run.size
    return run.sizes[name]


def _close_tensor(run: KernelRunner, tensor: TmaCopy | CuteTensor) -> TmaCopy | CuteTensor:
    """Return a tensor, or the TMA atom of one, whose strides have the known sizes."""
    if isinstance(tensor, TmaCopy):
        return tensor if tensor.tensor is None else replace(tensor, tensor=_close_numbers(run, tensor.tensor))
    if not run.size:
        return tensor

    def close(stride: int) -> Any:
        number = run.strides.decode(stride)
        return _close_numbers(run, number) if number.known is None else stride

    return replace(tensor, layout=replace(tensor.layout, stride=map_leaves(close, tensor.layout.stride)))


def _close_numbers(run: KernelRunner, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(item if _is_pitch(run, value, item) else _close_numbers(run, item) for item in value)
    if isinstance(value, TmaCopy | CuteTensor):
        return _close_tensor(run, value)
    if isinstance(value, SizedType) and value.integer and run.size:
        if run.sizes is not None:
            run.unsized.add(f"shape of {value.name}")
        return run.size
    if isinstance(value, ThreadNumber) and value.known is None and run.size:
        return run.size if run.sizes is None else _find_size(run, value)
    return value if is_cute_value(value) or isinstance(value, int | ThreadNumber) else None
