"""Choose different sizes for the M, N and K of a host's code, and find what they make of its maps and launches.

Matrices of one size hide exchanged sizes: the pitch of another matrix, a bound of the other side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from lanescope.cxx.expression import evaluate_constant
from lanescope.errors import LayoutError
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.threads.memory.tile_records import Grid, Grids, find_grid
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.text.function_texts import FunctionText

DEPTH, DEEP, WIDE = 768, 1536, 1280  # of K: the usual one, the next that fills a ring, and that of the largest M and N
# of M and N beside each K, in the order of the text: tiles of 64 to 256 divide all, groups of 16 tiles those of WIDE
WIDTHS = {DEPTH: (1536, 2304), DEEP: (768, 2304), WIDE: (2048, 6144)}
OTHER_WIDTHS = 3072, 4608
ALL_SIZES = frozenset((*WIDTHS, *(width for of in WIDTHS.values() for width in of)))
MOST_BLOCKS = 2**31 - 1  # of a dimension of a grid: CUDA C++ Programming Guide 13.0, "Compute Capabilities"
OUTER = 4  # of dimensions that no matrix of the product has, such as a batch
SPLITS = 2  # blocks along z whose number only the launch has
_OF_TENSOR = r"[A-Za-z_](?:\w|\.|->)*?(?:\.|->)(?:(?:size|dim)\(-?\d\)|(?:shape|sizes)(?:\(\))?\[\d\])"
_NAME = re.compile(rf"{_OF_TENSOR}|[A-Za-z_][\w.]*")
_VERSION = re.compile(r"(?<=\w)'+(?:\d+\b)?")  # of a name that several functions have: K'', K'10
_NUMBER = re.compile(r"\b\d+\b")
_NAMES = 3  # of M, N and K
_CONSTANT = re.compile(r"(?<![\w])k(?=[MNK](?![a-z]))")  # before the name of a constant
_DIMENSION = re.compile(r"dims\[(\d)\]")


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """Numbers for names of the host's code. texts: the names of sizes that it computes otherwise, by their text."""

    names: Mapping[str, int]
    texts: Mapping[str, str] = field(default_factory=dict)

    def evaluate(self, value: SymbolicInt | str | None) -> int | None:
        """Return the value of an expression; None if it has other names."""
        text = reduce(lambda whole, one: whole.replace(one, self.texts[one]), self.texts, str(value))
        text = _VERSION.sub("", text.replace("·", "*"))  # in C++, 384'10 is a number
        if value is None or not all(name in self.names for name in _NAME.findall(text)):
            return None
        try:
            return evaluate_constant(_NAME.sub(lambda name: str(self.names[name[0]]), text)).word
        except LayoutError:
            return None

    def grow(self, name: str) -> KnownSizes:
        """Return the sizes with one of them doubled."""
        return replace(self, names={**self.names, name: 2 * self.names[name]})

    def measure_map(self, tensor_map: TensorMap) -> TensorMap:
        """Return a map with the sizes of its tensor, as far as they are known."""
        dims = list(tensor_map.dims)
        for n, size in enumerate(dims):
            dims[n] = self.evaluate(tensor_map.symbols.get(f"dims[{n}]")) if size is None else size
        return replace(tensor_map, dims=tuple(dims))

    def find_arguments(self, function: FunctionText, launches: Sequence[KernelLaunchRecord]) -> dict[str, int] | None:
        """Return the integers that a kernel is launched with, by its parameters; None if launches differ, or each has
        one that is not known.
        """
        mine = [one for one in launches if one.name == function.name]
        launched = {(*map(str, one.arguments), *map(str, one.members)): one for one in mine}
        found = [self._evaluate_arguments(function, launch) for launch in launched.values()]
        known = [one for one in found if one is not None]
        return known[0] if known and all(one == known[0] for one in known) else None

    def _evaluate_arguments(self, function: FunctionText, launch: KernelLaunchRecord) -> dict[str, int] | None:
        """Return the integers of one launch by the kernel's parameters; None if one of them is not known."""
        if not launch.arguments or len(launch.arguments) != len(function.parameters):
            return None
        named = zip(function.parameters, launch.arguments, strict=True)
        given = {name: value for name, value in named if value is not None}
        given |= {f"{function.parameters[n]}.{name}": value for n, name, value in launch.members}
        found = {name: number for name, value in given.items() if (number := self.evaluate(value)) is not None}
        return found if len(found) == len(given) else None

    def list_grids(self, name: str, launches: Sequence[KernelLaunchRecord]) -> Iterator[tuple[tuple[str, ...], Grid]]:
        """Yield the template arguments of a kernel, () for all, with the grid that it is launched with."""
        mine = [one for one in launches if one.name == name]
        for templates in dict.fromkeys([(), *(one.templates for one in mine)]):
            grid = self.find_grid(name, [one for one in mine if templates in ((), one.templates)])
            if grid is not None:
                yield templates, grid

    def find_grid(self, name: str, launches: Sequence[KernelLaunchRecord]) -> Grid | None:
        """Return the grid that all launches of a kernel have; None if they differ, or none can be launched."""
        grids = {(*map(self.evaluate, one.grid), 1, 1)[:3] for one in launches if one.name == name}
        grid = next(iter(grids)) if len(grids) == 1 else (None, None, None)
        x, y, z = grid
        return (x, y, z) if x and y and z and max(x, y, z) <= MOST_BLOCKS else None


@dataclass(frozen=True, slots=True)
class GivenSizes:
    """Different sizes of M, N and K, and what kernels are launched with then.

    own: the numbers of the text that sizes replace.
    """

    sizes: KnownSizes
    arguments: Mapping[str, Mapping[str, int]]
    grids: Grids
    own: Mapping[int, int] = field(default_factory=dict)

    def find_grid(self, run: KernelRunner) -> Grid | None:
        """Return the grid of the launch that a run is of."""
        return find_grid(self.grids, run.kernel, run.instance.templates)

    def is_less(self, size: int, other: int) -> bool:
        """Return whether a size is less than another with the numbers of the text, or if it gives none, with these."""
        return self.own.get(size, size) < self.own.get(other, other)


def give_sizes(
    source: KernelText, recorded: Sequence[KernelLaunchRecord], depth: int = DEPTH, turned: bool = False
) -> GivenSizes | None:
    """Return different sizes for the kernels of a text; None if the launches do not make known which is which. depth:
    of K, with its WIDTHS; turned: whether the first of the others is the larger one.
    """
    grids = " ".join(str(blocks) for one in recorded for blocks in one.grid)
    sizes = choose_sizes(source.maps, depth, turned, source.blank, grids)
    if sizes is None or has_number_of_run(source.blank, sizes.names.values()):
        return None
    return find_given(source, recorded, sizes)


def list_widths(depth: int, turned: bool) -> list[int]:
    """Return the sizes of M and N beside one of K. turned: whether the first is the larger one."""
    return sorted(WIDTHS[depth], reverse=turned)


def list_sizes(depth: int) -> tuple[int, ...]:
    """Return the sizes of K, M and N in a run."""
    return depth, *WIDTHS[depth]


def find_given(source: KernelText, recorded: Sequence[KernelLaunchRecord], sizes: KnownSizes) -> GivenSizes | None:
    """Return what the kernels of a text are launched with for some sizes; None if that of no kernel is known."""
    along_z = {name for one in recorded for blocks in one.grid[2:] for name in _NAME.findall(str(blocks))}
    sizes = KnownSizes({**dict.fromkeys(along_z, SPLITS), **sizes.names})
    kernels = [function for function in source.functions if function.kernel]
    arguments = {one.name: sizes.find_arguments(one, recorded) for one in kernels}
    known = {name: of for name, of in arguments.items() if of is not None}
    grids = {(one.name, of): grid for one in kernels for of, grid in sizes.list_grids(one.name, recorded)}
    return GivenSizes(sizes, known, grids) if known else None


def find_own_sizes(source: KernelText, recorded: Sequence[KernelLaunchRecord]) -> tuple[GivenSizes | None, bool]:
    """Return (what the kernels of a text are launched with if all sizes of its matrices are numbers, and differ or are
    those of one block; whether they differ). Kernels with one block need not be right for other sizes.
    """
    inner = [one.dims[:2] for one in source.maps]
    sizes = {size for of in inner for size in of}
    given = find_given(source, recorded, KnownSizes({})) if None not in sizes else None
    differ = len(sizes) == _NAMES and all(len({*of}) == len(of) for of in inner)
    alone = given is not None and {*given.grids.values()} == {(1, 1, 1)}
    return given if differ or alone else None, differ


def has_number_of_run(blank: str, sizes: Iterable[int]) -> bool:
    """Return whether a number of a text may be mistaken for a size of a run."""
    return not set(map(str, sizes)).isdisjoint(_NUMBER.findall(blank))


def choose_sizes(
    maps: Iterable[TensorMap], depth: int = DEPTH, turned: bool = False, blank: str = "", grids: str = ""
) -> KnownSizes | None:
    """Return sizes for the names in the dimensions of tensor maps; None if it is not seen which of them is K. depth,
    turned: see give_sizes; blank: the text, grids: of its launches: K may be a number, if the names decide these.
    """
    inner, outer = _list_dimensions(maps)
    deep = [name for name in inner if is_depth(name)]
    if not deep:
        shared = [name for name, of in inner.items() if len(of) > 1]
        deep = shared if len(shared) == 1 else []
    others = [name for name in inner if name not in deep]
    if len(deep) > 1 or not 1 <= len(others) < _NAMES:
        return None
    if not deep and not all(len(inner[name]) == 1 and name in grids for name in others):
        return None
    widths = list_widths(depth, turned) if deep else _list_free_widths(blank, turned)
    named = {**dict.fromkeys(deep, depth), **dict(zip(others, widths, strict=False))}
    return KnownSizes({**dict.fromkeys(outer, OUTER), **named})


def _list_free_widths(blank: str, turned: bool) -> list[int]:
    """Return sizes of M and N that are no numbers of a text."""
    pairs = (*WIDTHS.values(), OTHER_WIDTHS)
    free = next((pair for pair in pairs if not has_number_of_run(blank, pair)), OTHER_WIDTHS)
    return sorted(free, reverse=turned)


def _list_dimensions(maps: Iterable[TensorMap]) -> tuple[dict[str, set[tuple[str, ...]]], set[str]]:
    """Return (name → the maps whose rows or columns it is of, the names of batches)."""
    inner: dict[str, set[tuple[str, ...]]] = {}
    outer: set[str] = set()
    for one in maps:
        if not all(one.box):
            continue  # of a helper that nothing is known to call
        for key, text in one.symbols.items():
            at = _DIMENSION.fullmatch(key)
            last = at is not None and int(at[1]) == len(one.dims) - 1 >= 2 and one.dims[0] is None
            for name in _NAME.findall(text) if at else ():
                outer.add(name) if last else inner.setdefault(name, set()).add(one.names)
    return inner, outer


def is_depth(name: str) -> bool:
    """Return whether a name is that of K: K, size_k, p.k, kK, depth; not kM."""
    words = re.split(r"[._]+|(?<=[a-z])(?=[A-Z])", _CONSTANT.sub("", name))
    return not {"k", "depth"}.isdisjoint(word.lower() for word in words)
