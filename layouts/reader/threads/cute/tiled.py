"""TiledCopy and TiledMMA in device code: atoms, slices of a thread, and the parts of tensors that it gets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.copy_atom import CopyAtom
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.reader.threads.cute.tensors import CuteTensor, locate, make_fragment
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, as_array, make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.tiles.copy import TiledCopy, make_copy_atom
from lanescope.tiles.copy_layouts import copy_from_layouts, copy_from_operand, get_tiler_sizes
from lanescope.tiles.mma import SIDES, TiledMMA
from lanescope.tiles.tiled_mma import tiled_mma

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


@dataclass(frozen=True, slots=True)
class CopyOperation:
    """A copy operation by its name: SM75_U32x4_LDSM_N, UniversalCopy; bits: of its type argument, 0 without one."""

    name: str
    bits: int = 0

    @property
    def asynchronous(self) -> bool:
        return self.name.startswith("SM80_CP_ASYNC")


@dataclass(frozen=True, slots=True)
class ElementCopy:
    """Copy_Atom<operation, element>."""

    operation: CopyOperation
    atom: CopyAtom
    element_bits: int

    @property
    def reference_values(self) -> int:
        """The elements of a thread on the side of the registers (CuTe's AtomNumVal)."""
        return algebra.upcast(self.atom.reference, self.element_bits).modes[1].size

    @property
    def values(self) -> tuple[int, int]:
        """The elements of a thread's source and destination in one access."""
        source, destination = (
            algebra.upcast(side, self.element_bits).modes[1].size for side in (self.atom.source, self.atom.destination)
        )
        return source, destination


@dataclass(frozen=True, slots=True)
class CuteCopy:
    """A TiledCopy, with the operation of its atom."""

    element: ElementCopy
    tiled: TiledCopy


@dataclass(frozen=True, slots=True)
class MmaAtomName:
    """An MMA atom by CUTLASS's name."""

    name: str


@dataclass(frozen=True, slots=True)
class ScalarMma:
    """A TiledMMA of UniversalFMA, which is not followed; None for its atom alone."""

    threads: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ThreadSlice:
    """get_slice of a TiledCopy or a TiledMMA; thread: the number of every thread in it."""

    of: CuteCopy | TiledMMA
    thread: ThreadNumber


PLAIN_COPIES = ("UniversalCopy", "DefaultCopy", "AutoVectorizingCopy", "AutoVectorizingCopyWithAssumedAlignment")


@lru_cache(maxsize=256)
def make_element_copy(operation: CopyOperation, element_bits: int) -> ElementCopy | None:
    """Return the atom of an operation for an element; None for one that is not followed."""
    bits = operation.bits if operation.asynchronous or operation.name == "UniversalCopy" else 0
    if operation.name.startswith("SM80_CP_ASYNC_CACHEALWAYS") and not bits:
        return None
    try:
        return ElementCopy(operation, make_copy_atom(operation.name, bits or None, element_bits), element_bits)
    except LayoutError:
        return None


@lru_cache(maxsize=64)
def make_tiled_mma(atom: MmaAtomName, atoms: CuteLayout, tilers: tuple[Any, ...]) -> TiledMMA:
    """Return the TiledMMA of an atom, its layout of atoms, and a permutation."""
    rest = (algebra.ONE,) * (3 - atoms.rank)
    layout = algebra.concatenate(*atoms.modes, *rest)
    return tiled_mma(atom.name, layout, (*tilers, None, None, None)[:3] if tilers else None)


@lru_cache(maxsize=64)
def make_tiled_copy(element: ElementCopy, threads: CuteLayout, values: CuteLayout) -> CuteCopy:
    """Return make_tiled_copy(atom, thr_layout, val_layout)."""
    return _make_copy(element, *copy_from_layouts(threads, values))


@lru_cache(maxsize=64)
def make_operand_copy(element: ElementCopy, mma: TiledMMA, operand: str) -> CuteCopy:
    """Return make_tiled_copy_A, _B, _C or _C_atom of a TiledMMA."""
    return _make_copy(element, *copy_from_operand(mma, operand, element.reference_values))


def _make_copy(element: ElementCopy, tv: CuteLayout, tilers: Any) -> CuteCopy:
    return CuteCopy(element, TiledCopy(element.atom, element.element_bits, tv, tilers, get_tiler_sizes(tilers)))


def partition(run: KernelRunner, part: ThreadSlice, name: str, tensor: CuteTensor) -> CuteTensor:
    """Return partition_S or _D of a TiledCopy, partition_A, _B or _C of a TiledMMA."""
    if isinstance(part.of, CuteCopy):
        tiled = part.of.tiled
        side = tiled.source if name == "partition_S" else tiled.destination
        divided = algebra.zipped_divide(tensor.layout, tiled.tilers)
        mapped = algebra.composition(divided, (side.layout, None))
        thread, values = mapped.modes[0].modes
        layout = algebra.concatenate(values, *mapped.modes[1].modes)
        return tensor.move(layout, locate(run, thread, part.thread))
    operand = name[-1].lower()
    mapped = part.of.divide_tensor(operand, tensor.layout)
    threads, values = mapped.modes
    in_atom, teams = threads.modes
    coordinates = _split_thread(part)
    first, second = SIDES[operand]
    moved = locate(
        run,
        algebra.concatenate(in_atom, *teams.modes),
        (coordinates[0], *(coordinates[n + 1] for n in (first, second))),
    )
    return tensor.move(algebra.concatenate(values.modes[0], *values.modes[1].modes), moved)


def _split_thread(part: ThreadSlice) -> list[ThreadNumber]:
    """Return (thread in its atom, atom in M, N and K) of every thread."""
    assert isinstance(part.of, TiledMMA)
    known = part.thread.const
    if known is None:
        raise LayoutError("open_thread", "The thread of a slice is not known.")
    located = part.of.locate_threads(np.asarray(as_array(known)))
    return [make_number(int(at) if at.ndim == 0 else at, LONG) for at in located]


def make_operand_fragment(part: ThreadSlice, operand: str, tensor: CuteTensor) -> CuteTensor:
    """Return new registers for a partitioned tensor of an operand."""
    layout = algebra.make_fragment_like(tensor.layout)
    assert isinstance(part.of, TiledMMA)
    bits = part.of.atom.bits[operand]
    element = tensor.element
    if element is None or element.size * 8 != bits:
        element = SizedType("float" if operand == "c" and bits == 32 else "auto", bits // 8)
    return make_fragment(layout, element)


def retile(part: ThreadSlice, fragment: CuteTensor) -> CuteTensor:
    """Return retile_S or retile_D: the same registers in the modes of a TiledCopy."""
    assert isinstance(part.of, CuteCopy)
    tiled, values = part.of.tiled, part.of.element.reference_values
    return replace(fragment, layout=algebra.retile(fragment.layout, tiled.tv, tiled.tilers, values))
