"""Patterns: one string states a fragment map, and everything else is derived from it.

    (g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)

The first group on the left spells the thread number, the second the value index (the element's place in the thread's
registers), each group on the right one coordinate. A name with a size is a mixed-radix digit; the last name of a group
runs fastest. A name only on the left is a copy: there is a copy of the element for each value of the digit. Sizes may
be products and quotients of letters bound when the pattern is parsed: `(j:k/4/v)`.

>>> a = Pattern.parse("(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)")
>>> row, col = a.evaluate()             # int arrays [32 threads, 8 values]
>>> int(row[13, 2]), int(col[13, 2])
(11, 2)
>>> a.owners(11, 2)
[(13, 2)]
>>> a.to_cute()
'((4,8),(2,2,2)):((32,1),(16,8,128))'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from lanescope.errors import LayoutError
from lanescope.inputs import check_coordinate
from lanescope.ptx.digits import (
    LONGEST,
    DigitTerm,
    PatternDigit,
    Terms,
    check_coordinates,
    check_digits,
    join_digits,
    make_pattern_error,
    parse_digit,
    split_groups,
    split_numbers,
    weigh_digits,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray: TypeAlias = NDArray[np.int32]
else:
    IntArray = Any  # NumPy is imported where an array is made: most answers need none


@dataclass(frozen=True, slots=True)
class FormulaWords:
    """The names in a formula: the variables of thread and value, and names for digits of the thread number.

    digits: (name in the pattern, name in the formula, definition), e.g. ("g", "groupID", "%laneid >> 2").
    """

    thread: str = "thread"
    value: str = "i"
    digits: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A map (thread, value) → coordinates, as digits. Immutable and hashable; digits of size 1 are dropped.

    `threads` and `values` hold digits, slowest first; `coords` holds the digit names of each coordinate, slowest first.
    """

    threads: tuple[PatternDigit, ...]
    values: tuple[PatternDigit, ...]
    coords: tuple[tuple[str, ...], ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.threads, self.values, self.coords)))

    def __hash__(self) -> int:
        """Return the hash that was computed once: patterns are keys of most caches, and hold dozens of digits."""
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it anew in another process, where the same text has another hash."""
        return Pattern, (self.threads, self.values, self.coords)

    # parse and print ------------------------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str, **sizes: int) -> Pattern:
        """Parse a pattern; letters in sizes are taken from `sizes`. LayoutError names the part that is wrong."""
        if len(text) > LONGEST:
            raise make_pattern_error(text, f"it has {len(text)} characters", f"at most {LONGEST}")
        left, arrow, right = text.partition("->")
        if not arrow:
            raise make_pattern_error(text, "it has no '->'", "'(threads) (values) -> (row) (col)'")
        lhs, rhs = split_groups(text, left), split_groups(text, right)
        if len(lhs) != 2:
            raise make_pattern_error(text, f"it has {len(lhs)} groups left of '->'", "two: '(threads) (values)'")
        if not rhs:
            raise make_pattern_error(text, "nothing follows '->'", "one group per coordinate, e.g. '(i g) (j t e)'")
        threads, values = (tuple(parse_digit(text, token, sizes) for token in group) for group in lhs)
        check_digits(text, (*threads, *values))
        known = {d.name: d.size for d in (*threads, *values)}
        check_coordinates(text, [name for group in rhs for name in group], known)
        return cls(
            tuple(d for d in threads if d.size > 1),
            tuple(d for d in values if d.size > 1),
            tuple(tuple(name for name in group if known[name] > 1) for group in rhs),
        )

    def __str__(self) -> str:
        sides = (
            " ".join(f"({' '.join(map(str, group))})" for group in (self.threads, self.values)),
            " ".join(f"({' '.join(group)})" for group in self.coords),
        )
        return " -> ".join(sides)

    # sizes ----------------------------------------------------------------------------------------------------------

    @property
    def thread_count(self) -> int:
        return prod(d.size for d in self.threads)

    @property
    def value_count(self) -> int:
        return prod(d.size for d in self.values)

    @property
    def extents(self) -> tuple[int, ...]:
        """How many values each coordinate takes."""
        size = {d.name: d.size for d in self.digits}
        return tuple(prod(size[name] for name in group) for group in self.coords)

    @property
    def digits(self) -> tuple[PatternDigit, ...]:
        return (*self.threads, *self.values)

    @property
    def copied(self) -> tuple[PatternDigit, ...]:
        """The digits that occur only on the left: each of their values is a copy of the same element."""
        used = {name for group in self.coords for name in group}
        return tuple(d for d in self.digits if d.name not in used)

    @property
    def copies(self) -> int:
        """How many (thread, value) pairs hold each element."""
        return prod(d.size for d in self.copied)

    # evaluate -------------------------------------------------------------------------------------------------------

    def thread_terms(self) -> tuple[DigitTerm, ...]:
        """Return the terms of thread = Σ weight · digit."""
        return weigh_digits(self.threads)

    def value_terms(self) -> tuple[DigitTerm, ...]:
        """Return the terms of value = Σ weight · digit."""
        return weigh_digits(self.values)

    def coord_terms(self) -> tuple[tuple[DigitTerm, ...], ...]:
        """Return the terms of every coordinate = Σ weight · digit."""
        known = {d.name: d for d in self.digits}
        return tuple(weigh_digits(tuple(known[name] for name in group)) for group in self.coords)

    def evaluate(self) -> tuple[IntArray, ...]:
        """Return one read-only int array [threads, values] per coordinate."""
        return _evaluate_pattern(self)

    def digit_values(self) -> dict[str, IntArray]:
        """Return each digit's values: over the threads for a thread digit, over the value indices for a value digit."""
        import numpy as np

        values: dict[str, IntArray] = {}
        for terms, count in ((self.thread_terms(), self.thread_count), (self.value_terms(), self.value_count)):
            number = np.arange(count, dtype=np.int32)
            values |= {term.name: number // term.weight % term.size for term in terms}
        return values

    # inverse --------------------------------------------------------------------------------------------------------

    def inverse(self) -> tuple[IntArray, IntArray]:
        """Return (thread, value), each an int array [*extents, copies]."""
        return _invert_pattern(self)

    def owners(self, *coords: int) -> list[tuple[int, int]]:
        """Return every (thread, value) that holds the element at `coords`; LayoutError names the limit."""
        extents = self.extents
        if len(coords) != len(extents):
            raise LayoutError(
                "bad_coordinate", f"{len(coords)} coordinates were given for '{self}'.", f"It takes {len(extents)}."
            )
        for at, extent in zip(coords, extents, strict=True):
            if type(at) is not int or not 0 <= at < extent:
                check_coordinate(at, extent, f"In '{self}'.")
        threads, values, axes = _weigh_pattern(self)
        digits = split_numbers(axes, coords)
        names = [digit.name for digit in self.copied]
        copies = product(*(range(digit.size) for digit in self.copied))
        every = (digits | dict(zip(names, numbers, strict=True)) for numbers in copies)
        return [(join_digits(threads, copy), join_digits(values, copy)) for copy in every]

    def element_at(self, thread: int, value: int) -> tuple[int, ...]:
        """Return the coordinates of the element that a thread holds as one of its values; LayoutError names the limit.

        >>> Pattern.parse("(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)").element_at(13, 2)
        (11, 2)
        """
        for number, count in ((thread, self.thread_count), (value, self.value_count)):
            if not 0 <= number < count:
                check_coordinate(number, count, f"In '{self}'.")
        threads, values, axes = _weigh_pattern(self)
        digits = split_numbers((threads, values), (thread, value))
        return tuple(join_digits(terms, digits) for terms in axes)

    # CuTe -----------------------------------------------------------------------------------------------------------

    def to_cute(self) -> str:
        """Return the CuTe layout (thread, value) → coordinate index, first coordinate fastest: `(shapes):(strides)`."""
        stride = self._compute_strides()
        modes = [[(d.size, stride.get(d.name, 0)) for d in reversed(g)] for g in (self.threads, self.values)]
        return f"({_format_cute_modes(modes, 0)}):({_format_cute_modes(modes, 1)})"

    def _compute_strides(self) -> dict[str, int]:
        strides: dict[str, int] = {}
        below = 1
        for terms, extent in zip(self.coord_terms(), self.extents, strict=True):
            strides |= {term.name: term.weight * below for term in terms}
            below *= extent
        return strides

    # Triton ---------------------------------------------------------------------------------------------------------

    def linear_layout(self, warp_threads: int = 32) -> dict[str, list[list[int]]] | None:
        """Return Triton linear-layout bases: for each bit of register (value), lane and warp the coordinates it adds.

        None if a size is not a power of two (such a map is not linear over bits).
        """
        if any(d.size & (d.size - 1) for d in self.digits):
            return None
        place_of = {t.name: (axis, t.weight) for axis, terms in enumerate(self.coord_terms()) for t in terms}
        bases: dict[str, list[list[int]]] = {"register": [], "lane": [], "warp": []}
        for key, terms in (("register", self.value_terms()), ("lane", self.thread_terms())):
            for term in reversed(terms):
                for bit in range(term.size.bit_length() - 1):
                    basis = [0] * len(self.coords)
                    if term.name in place_of:
                        axis, weight = place_of[term.name]
                        basis[axis] = weight << bit
                    outside = key == "lane" and term.weight << bit >= warp_threads
                    bases["warp" if outside else key].append(basis)
        return bases

    # formulas -------------------------------------------------------------------------------------------------------

    def forward_formula(self, axes: tuple[str, ...], words: FormulaWords = FormulaWords()) -> dict[str, str]:
        """Return {definition or axis: expression}: the coordinates from thread and value, valid in C, PTX and
        Python.
        """
        spelled = {name: word for name, word, _ in words.digits}
        present = {d.name for d in self.threads}
        formulas = {word: definition for name, word, definition in words.digits if name in present}
        source = {
            t.name: _format_digit(words.thread, t, t.weight * t.size == self.thread_count) for t in self.thread_terms()
        }
        source |= {
            t.name: _format_digit(words.value, t, t.weight * t.size == self.value_count) for t in self.value_terms()
        }
        source |= spelled
        for axis, terms in zip(axes, self.coord_terms(), strict=True):
            formulas[axis] = _format_sum((t.weight, source[t.name]) for t in terms)
        return formulas

    def inverse_formula(self, axes: tuple[str, ...], words: FormulaWords = FormulaWords()) -> dict[str, str]:
        """Return {thread word: expression, value word: expression} from the coordinates; the name of a copy stays a
        free variable.
        """
        source: dict[str, str] = {}
        for axis, terms, extent in zip(axes, self.coord_terms(), self.extents, strict=True):
            source |= {t.name: _format_digit(axis, t, t.weight * t.size == extent) for t in terms}
        return {
            words.thread: _format_sum((t.weight, source.get(t.name, t.name)) for t in self.thread_terms()),
            words.value: _format_sum((t.weight, source.get(t.name, t.name)) for t in self.value_terms()),
        }


@lru_cache(maxsize=2048)
def _weigh_pattern(pattern: Pattern) -> tuple[Terms, Terms, tuple[Terms, ...]]:
    """Return the terms of thread, value and every coordinate. Cached: tables look up one element at a time."""
    return pattern.thread_terms(), pattern.value_terms(), pattern.coord_terms()


@lru_cache(maxsize=2048)
def _evaluate_pattern(pattern: Pattern) -> tuple[IntArray, ...]:
    import numpy as np

    digit = pattern.digit_values()
    on_thread = {d.name for d in pattern.threads}
    arrays = []
    for terms in pattern.coord_terms():
        by_thread = np.zeros(pattern.thread_count, dtype=np.int32)
        by_value = np.zeros(pattern.value_count, dtype=np.int32)
        for term in terms:
            target = by_thread if term.name in on_thread else by_value
            target += term.weight * digit[term.name]
        array = by_thread[:, None] + by_value[None, :]
        array.flags.writeable = False
        arrays.append(array)
    return tuple(arrays)


@lru_cache(maxsize=512)
def _invert_pattern(pattern: Pattern) -> tuple[IntArray, IntArray]:
    import numpy as np

    axis_of = {t.name: (axis, t) for axis, terms in enumerate(pattern.coord_terms()) for t in terms}
    shape = (*pattern.extents, pattern.copies)
    copy_term = {t.name: t for t in weigh_digits(pattern.copied)}
    totals = []
    for terms in (pattern.thread_terms(), pattern.value_terms()):
        total = np.zeros(shape, dtype=np.int32)
        for term in terms:
            axis, source = axis_of.get(term.name) or (len(shape) - 1, copy_term[term.name])
            ramp = np.arange(shape[axis], dtype=np.int32) // source.weight % source.size * term.weight
            total += ramp.reshape([-1 if n == axis else 1 for n in range(len(shape))])
        total.flags.writeable = False
        totals.append(total)
    return totals[0], totals[1]


def _format_cute_modes(modes: list[list[tuple[int, int]]], part: int) -> str:
    default = "1" if part == 0 else "0"
    texts = [[str(mode[part]) for mode in group] for group in modes]
    return ",".join(t[0] if len(t) == 1 else f"({','.join(t)})" if t else default for t in texts)


def _format_digit(variable: str, term: DigitTerm, top: bool) -> str:
    """Return the expression that takes a digit out of a variable."""
    shift = term.weight.bit_length() - 1
    if term.weight != 1 << shift or (not top and term.size & (term.size - 1)):
        inner = variable if term.weight == 1 else f"{variable} / {term.weight}"
        return f"({inner})" if top and term.weight > 1 else inner if top else f"({inner} % {term.size})"
    inner = f"({variable} >> {shift})" if shift else variable
    return inner if top else f"({inner} & {term.size - 1})"


def _format_sum(terms: Any) -> str:
    """Return `8 * x + y`, heaviest first."""
    parts = [expression if weight == 1 else f"{weight} * {expression}" for weight, expression in terms]
    return " + ".join(parts) or "0"
