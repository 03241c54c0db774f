"""M, N and K of a run with known sizes, and the integers of a kernel's parameters that follow from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from lanescope.workbench.products.product_sizes import shorten_name

_MATRIX = re.compile(r"(?:(?P<first>[ABCDabcd])_)?(?P<kind>ld|(?:batch_?)?stride_?|s)(?P<last>[ABCDabcd]?)$", re.I)


@dataclass(frozen=True, slots=True)
class KnownMatrices:
    """M, N and K of a run: tiles of 64 to 256 divide M and N, slices of 16 to 128 K. others: the value of integers that
    are not a size of a matrix, such as the number of batches; names: m, n or k by other names of theirs.
    """

    m: int = 1792
    n: int = 2816
    k: int = 384
    others: int = 2
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def find(self, name: str) -> int | None:
        """Return the size with a name; None if it is not one of M, N and K."""
        return {"m": self.m, "n": self.n, "k": self.k}.get(self.names.get(name) or shorten_name(name))

    def is_size(self, name: str) -> bool:
        """Return whether a name is one of M, N and K."""
        return self.find(name) is not None


def is_stride(name: str) -> bool:
    """Return whether a name is that of a leading dimension or of a stride of a batch.

    >>> [is_stride(name) for name in ("lda", "p.ldb", "batch_stride_c", "field", "threads")]
    [True, True, True, False, False]
    """
    found = _MATRIX.search(name)
    if found is None or found["kind"].lower() == "s":
        return False
    at = found.start()
    return not at or name[at - 1] in "_." or name[at].isupper()


class ParameterSizes(dict[str, int]):
    """The integers of a kernel's parameters: those of a launch, else M, N and K by their names."""

    def __init__(self, given: Mapping[str, int], known: KnownMatrices) -> None:
        super().__init__(given)
        self.known = known

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self.known.find(str(name)) is not None

    def __missing__(self, name: str) -> int:
        return self.known.find(name) or 0

    @property
    def are_named(self) -> bool:
        """Return whether all parameters that are called M, N and K are these."""
        return all(self.known.find(name) in (None, value) for name, value in self.items())


def list_strides(names: Collection[str], known: KnownMatrices) -> Iterator[dict[str, int]]:
    """Yield what leading dimensions and strides of a batch may be, by the matrices in their names: lda, stride_b."""
    m, n, k = known.m, known.n, known.k
    of_batch = {"a": m * k, "b": n * k, "c": m * n, "d": m * n}
    for lines in product((k, m), (k, n), (n, m)):
        chosen = {}
        for name in names:
            matrix = _MATRIX.search(name)
            if matrix is None:
                return
            letter = (matrix["first"] or matrix["last"]).lower()
            leads = matrix["kind"].lower().startswith("ld")
            if not letter and not leads:
                return
            chosen[name] = lines["abc".find(letter)] if leads else of_batch[letter]
        if chosen:
            yield chosen
        if not any(name.rpartition(".")[2].lower().startswith("ld") for name in names):
            return
