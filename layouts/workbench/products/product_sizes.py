"""The sizes of a kernel's products: which parameters are equal, which limit rows and columns of D, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.equal_sizes import may_be_equal
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text

_SIZE = re.compile(r"(?!blockIdx\b|gridDim\b)[A-Za-z_][\w.]*")
_LEADING = re.compile(r"(?:^|[._])ld|stride|pitch|lead|pad", re.I)
_BESIDE = re.compile(
    r"(?-i:^k(?=[MNK]$))|size|dim|len|num|total|global|problem|(?<=^[mnk]_)(?:ld|pad)$|padded|_", re.I
)  # words beside M, N or K, A or B in a name
_COUNT = re.compile(r"tile|step|iter|count|chunk|block|split|stage|part|slice|num|begin|start|end|last", re.I)
Tokens = tuple[set[str], set[str]]


def is_size(name: str) -> bool:
    """Return whether an open name is a parameter of the kernel, not the place of a block or a computed number."""
    return _SIZE.fullmatch(name) is not None


def is_leading(name: str) -> bool:
    """Return whether a parameter is a leading dimension by its name."""
    return _LEADING.search(name) is not None


def is_count(name: str) -> bool:
    """Return whether a parameter is a number of steps or parts by its name, not a size."""
    return _COUNT.search(name) is not None


def shorten_name(name: str) -> str:
    """Return a name without words such as size, in lower case.

    >>> shorten_name("params.size_M"), shorten_name("p->K"), shorten_name("kN")
    ('m', 'k', 'n')
    """
    return _BESIDE.sub("", name.replace("->", ".").rpartition(".")[2]).lower()


class ProductSizes:
    """The parameters of a kernel that may be sizes of its products.

    limits: those that the rows (m) and the columns (n) of D are less than; bounds: (m or n, size, place) of each
    comparison that says so.
    """

    def __init__(self, run: KernelRun, launches: Sequence[KernelLaunchRecord]) -> None:
        self.kernel, self.runner = run.function, run.runner
        self.launches = [launch for launch in launches if launch.name == run.function.name]
        numbers = [(n, one.name) for n, one in enumerate(run.function.parameters) if one.type and not one.type.pointers]
        self.values = {name: [_find_argument(launch, n) for launch in self.launches] for n, name in numbers}
        self.limits: dict[str, set[str]] = {"m": set(), "n": set()}
        self.bounds: list[tuple[str, str, Span]] = []

    def rename(self, size: str) -> str:
        """Return one name for the sizes that are equal in every launch of the text."""
        values = self.values.get(size, [])
        same = (name for name, others in self.values.items() if others == values)
        return next(same) if values and all(values) else size

    def is_parameter(self, size: str) -> bool:
        """Return whether a size is a parameter of the kernel, or a member of one."""
        return size in self.values or size.partition(".")[0] in self.values

    def rename_all(self, sizes: Iterable[str]) -> set[str]:
        return {self.rename(size) for size in sizes}

    @cached_property
    def letters(self) -> dict[str, str]:
        """The parameters that are called M, N and K, if all three are."""
        named = {shorten_name(name): name for name in reversed(self.values)}  # the first of n and N
        return {letter: named[letter] for letter in "mnk"} if named.keys() >= set("mnk") else {}

    @cached_property
    def unused(self) -> set[str]:
        """The parameters that the kernel does not name."""
        body = self.kernel.body
        words = set(re.findall(r"[A-Za-z_]\w*", self.runner.text[slice(*body.span)])) if body is not None else set()
        return self.rename_all(self.values.keys() - words)

    def has_exchanged_grid(self, pitches: Iterable[tuple[str, str]]) -> bool:
        """Return whether only grids limit D, its rows by N and its columns by M, while its pitches are those that their
        names tell. pitches: (the dimension that its lines run along, the pitch) of each stored D.
        """
        letters = {of: self.rename(name) for of, name in self.letters.items()}
        if self.bounds or not letters or len(set(letters.values())) < len(letters):
            return False
        exchanged = self.limits == {"m": {letters["n"]}, "n": {letters["m"]}}
        return exchanged and all(letters.get(along) == self.rename(size) for along, size in pitches)

    @property
    def knows_launches(self) -> bool:
        """Return whether all launches in the text are known, so that none makes sizes equal unnoticed."""
        return bool(self.launches) or len(re.findall(rf"\b{self.kernel.name}\b", blank_text(self.runner.text))) == 1

    @cached_property
    def may_be_equal(self) -> bool:
        """Whether the text may be for equal sizes, or parts of one matrix, alone."""
        return may_be_equal(
            self.runner.text,
            self.kernel.name,
            [one.name for one in self.kernel.parameters],
            self.launches,
            self.values,
        )

    def is_less(self, size: str, other: str) -> bool:
        """Return whether a size is less than another in a launch."""
        pairs = zip(self.values.get(size, ()), self.values.get(other, ()), strict=False)
        return any(a.isdigit() and b.isdigit() and int(a) < int(b) for a, b in pairs)

    def are_related(self, size: str, other: str) -> bool:
        """Return whether a launch computes one size from another, as 2 * N from N: either may be a pitch on purpose."""
        pairs = zip(self.values.get(size, ()), self.values.get(other, ()), strict=False)
        return any(a != b and (_names(a, b) or _names(b, a)) for a, b in pairs)

    def add_limits(self, dimensions: str, tokens: Tokens) -> None:
        """Find the sizes that bounds in the kernel, and the grids of its launches, give rows and columns of D.

        dimensions: that which the lines of D run along, and the other; tokens: what their addresses are made of, such
        as blockIdx.x and blockIdx.y.
        """
        for size, found, span in (*_list_bounds(self.runner), *self._list_grid_sizes()):
            matching = [dimension for dimension, own in zip(dimensions, tokens, strict=True) if found & own]
            if len(matching) == 1:
                self.limits[matching[0]].add(self.rename(size))
                self.bounds += [(matching[0], self.rename(size), span)] if span is not None else []

    def _list_grid_sizes(self) -> Iterator[tuple[str, set[str], None]]:
        """Yield (a size, the index of the blocks, None) if a dimension of a grid is computed from only this size."""
        for n, launch in enumerate(self.launches):
            for axis, blocks in zip("xyz", launch.grid, strict=False):
                words = set(re.findall(r"[A-Za-z_]\w*", str(blocks))) if blocks is not None else set()
                sizes = self.rename_all(name for name, values in self.values.items() if values[n] in words)
                if len(sizes) == 1:
                    yield sizes.pop(), {f"blockIdx.{axis}"}, None


def _names(expression: str, name: str) -> bool:
    """Return whether an expression contains a name."""
    return name.isidentifier() and re.search(rf"\b{name}\b", expression) is not None


def _find_argument(launch: KernelLaunchRecord, position: int) -> str:
    """Return the number that a launch passes, as text; "" if unknown."""
    value = launch.arguments[position] if position < len(launch.arguments) else None
    return "" if value is None else str(value)


def _list_bounds(run: KernelRunner) -> Iterator[tuple[str, set[str], Span]]:
    """Yield (a size, what the number that it limits contains, its place) of the comparisons of a kernel."""
    for span, (left, right) in run.limits.items():
        for number, limit in ((left, right), (right, left)):
            if size := find_only_size(limit):
                yield size, {name for names in number.terms for name in names if not is_size(name)}, span


def find_only_size(number: ThreadNumber) -> str:
    """Return the size that a number is; "" for another number."""
    terms = {names: factor for names, factor in number.terms.items() if names or not isinstance(factor, int) or factor}
    names = next(iter(terms), ()) if len(terms) == 1 else ()
    only = len(names) == 1 and is_size(names[0]) and isinstance(terms[names], int)
    return names[0] if only and terms[names] == 1 else ""
