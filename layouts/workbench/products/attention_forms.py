"""What O of an attention kernel is for a given order of its matrices: softmax(Q·Kᵀ · scale) · V, element by element."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.reader.threads.language.arguments import GIVEN_REAL
from lanescope.reader.threads.memory.number_tape import Floats, number_elements
from lanescope.reader.threads.memory.storage import Ints, Mask
from lanescope.workbench.products.known_matrices import KnownMatrices

HEADS = 2  # also batches
DIMS = 64, 128, 32, 96, 256, 80, 16, 192, 160, 48, 40, 112, 224, 512, 320, 384, 448, 1024  # of a head
_SAMPLE, _FIRST, _FIT = 24, 6, 3  # elements that are compared to find a form, those before the others, and the least
_NEAR = 3e-6
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ROLES = {
    "q": {"q", "query", "queries"},
    "k": {"k", "key", "keys"},
    "v": {"v", "value", "values", "val"},
    "o": {"o", "out", "output", "dst"},
}
_LENGTH = {"seq", "seqlen", "len", "length", "n", "l", "s", "t", "tokens", "sequence", "ctx", "context", "rows"}
_NO_ARRAY = re.compile(r"len|seq|stride|head|dim|num|size|scale|block|tile|batch|smem|max|sum|offset|idx|row|col", re.I)
_OF_KEYS = {"k", "kv", "key", "keys"}
_DIM = {"dim", "headdim", "hdim", "d", "dk", "dv"}
_COUNT = {"batch", "bs", "b", "bh", "batches", "head", "heads", "nheads", "nhead", "h", "nh", "hq", "hkv", "bsz", "z"}


def split_words(name: str) -> set[str]:
    """Return the words of a name, or of a member's, in lower case.

    >>> sorted(split_words("params.seqlen_q") | split_words("headDim"))
    ['dim', 'head', 'q', 'seqlen']
    """
    return {word.lower() for word in _WORD.findall(name.rpartition(".")[2])}


def find_roles(names: Collection[str]) -> dict[str, str]:
    """Return which of some arrays is q, k, v and o; nothing if one of q, k and v is missing, or several are.

    >>> find_roles(["Q", "d_K", "v_ptr", "out"])
    {'q': 'Q', 'k': 'd_K', 'v': 'v_ptr', 'o': 'out'}
    """
    names = [name for name in names if not _NO_ARRAY.search(name.rpartition(".")[2])]
    found = {role: [name for name in names if split_words(name) & of] for role, of in _ROLES.items()}
    known = all(len(found[role]) == 1 for role in "qkv")
    return {role: of[0] for role, of in found.items() if len(of) == 1} if known else {}


def is_length(name: str) -> bool:
    """Return whether a name is that of a number of queries or keys.

    >>> [is_length(name) for name in ("seq_len", "n_kv", "n_kv_heads")]
    [True, True, False]
    """
    words = split_words(name)
    return bool(words & _LENGTH) and not words & (_DIM | _COUNT | {"stride"})


@dataclass(frozen=True, slots=True)
class AttentionSizes(KnownMatrices):
    """Sizes of a run of attention: queries, keys, and elements of a head by the names that they usually have."""

    queries: int = 256
    keys: int = 256
    dim: int = 64

    def find(self, name: str) -> int | None:
        words = split_words(name)
        if "stride" in words:
            return None
        if words & _DIM:
            return self.dim
        if words & _COUNT:
            return HEADS
        if words & _LENGTH:
            return self.keys if words & _OF_KEYS else self.queries
        return 1 if "causal" in words else None

    def is_dim(self, name: str) -> bool:
        """Return whether a name is that of the elements of a head."""
        return bool(split_words(name) & _DIM)

    def list_lengths(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the number of queries and of keys of a launch."""
        lengths = list(filter(is_length, sizes))
        keys = [sizes[name] for name in lengths if split_words(name) & _OF_KEYS]
        queries = [sizes[name] for name in lengths if not split_words(name) & _OF_KEYS]
        return (queries or keys or [self.queries])[0], (keys or queries or [self.keys])[0]


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """How the matrices of a kernel are stored, and what it computes. lengths: of queries and keys; dim: of a head;
    apart: heads whose rows lie next to each other, 1 if those of each head do; causal: keys after a query that it still
    takes, None for all; scale: of Q·Kᵀ.
    """

    lengths: tuple[int, int]
    dim: int
    apart: int
    causal: int | None
    scale: float

    def list_keys(self, row: int) -> Ints:
        """Return the rows of K and V that belong to a row of Q."""
        queries, keys = self.lengths
        head = row // self.apart // queries
        return (head * keys + np.arange(keys)) * self.apart + row % self.apart

    def weigh(self, names: Mapping[str, str], row: int) -> tuple[Ints, Floats]:
        """Return (the rows of K and V, the weight of each) for a row of Q."""
        keys, each = self.list_keys(row), np.arange(self.dim)
        q = number_elements(names["q"], row * self.dim + each)
        scores = _number_keys(names["k"], int(keys[0]), len(keys), self.apart, self.dim) @ q * self.scale
        if self.causal is not None:
            query = row // self.apart % self.lengths[0]
            scores = np.where(np.arange(len(keys)) <= query + self.causal, scores, -np.inf)
        if np.isneginf(scores).all():  # the row has no key
            return keys, np.zeros(len(keys))
        weights = np.exp(scores - scores.max())
        return keys, weights / weights.sum()

    def expect(self, names: Mapping[str, str], index: Ints) -> Floats:
        """Return what elements of O are."""
        rows, columns = np.divmod(index, self.dim)
        values = np.zeros(len(index))
        for row in np.unique(rows).tolist():
            mine = rows == row
            keys, weights = self.weigh(names, row)
            values[mine] = weights @ number_elements(names["v"], keys[:, None] * self.dim + columns[mine])
        return values


@lru_cache(maxsize=4)
def _number_keys(array: str, first: int, count: int, apart: int, dim: int) -> Floats:
    """Return the elements of K of a head. first: its first row."""
    rows = first + np.arange(count) * apart
    return number_elements(array, rows[:, None] * dim + np.arange(dim))


def are_near(one: Floats, other: Floats) -> Mask:
    """Return which numbers are equal but for roundings of constants."""
    near: Mask = np.abs(one - other) <= _NEAR * (1 + np.abs(other))
    return near


def find_form(
    names: Mapping[str, str], lengths: tuple[int, int], elements: tuple[Ints, Floats], dims: Sequence[int]
) -> AttentionForm | None:
    """Return the form that most elements of O have; None if hardly one has any. elements: their numbers and values."""
    index, values = elements
    sample = np.linspace(0, len(index) - 1, min(_SAMPLE, len(index))).astype(np.int64)
    index, values = index[sample], values[sample]
    best: tuple[int, AttentionForm | None] = _FIT - 1, None
    for form in _list_forms(lengths, dims):
        if len(index) and index.max() < 4 * HEADS**2 * lengths[0] * form.dim:
            first = are_near(values[:: _SAMPLE // _FIRST], form.expect(names, index[:: _SAMPLE // _FIRST]))
            count = int(np.count_nonzero(are_near(values, form.expect(names, index)))) if first.any() else 0
            best = (count, form) if count > best[0] else best
            if count == len(sample):
                break
    return best[1]


def find_scaled_form(
    names: Mapping[str, str], lengths: tuple[int, int], elements: tuple[Ints, Floats], dim: int
) -> AttentionForm | None:
    """Return the form that some rows of O have but for a factor of each row; None if they have no form."""
    rows = np.unique(elements[0] // dim)
    chosen = rows[np.linspace(0, len(rows) - 1, min(_FIRST, len(rows))).astype(np.int64)]
    for form in _list_forms(lengths, [dim]):
        if all(_are_parallel(form.expect(names, at), values) for at, values in _list_rows(elements, chosen, dim)):
            return form
    return None


def _list_rows(elements: tuple[Ints, Floats], rows: Ints, dim: int) -> Iterator[tuple[Ints, Floats]]:
    """Yield the elements of some rows: their numbers and values."""
    for row in rows:
        mine = elements[0] // dim == row
        yield elements[0][mine], elements[1][mine]


def _are_parallel(one: Floats, other: Floats) -> bool:
    length = np.linalg.norm(one) * np.linalg.norm(other)
    return len(one) > 1 and bool(np.abs(one @ other - length) <= _NEAR**2 * length)


def _list_forms(lengths: tuple[int, int], dims: Sequence[int]) -> Iterator[AttentionForm]:
    beyond = dict.fromkeys((None, 0, lengths[1] - lengths[0]))
    for dim, apart, causal in product(dims, (1, HEADS), beyond):
        root = dim**-0.5
        for scale in (root, 1.0, GIVEN_REAL, GIVEN_REAL * np.log(2), GIVEN_REAL * root, np.log(2) * root):
            check_deadline()
            yield AttentionForm(lengths, dim, apart, causal, float(scale))
