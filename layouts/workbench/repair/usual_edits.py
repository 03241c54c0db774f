"""List the usual other values of a number in a text: one bit more or less, the double, the half, one more or less."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.workbench.repair.repairs import parse_literal, write_like
from lanescope.workbench.results import TextEdit
from lanescope.workbench.text.statement_words import StatementWords

_NUMBER = re.compile(r"_?(0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*")
_NO_VALUES = frozenset("static_assert pragma include unroll alignas __align__ __launch_bounds__ case".split())
_CONTIGUOUS = "_1"  # of CuTe
_OF_WARP = frozenset({("/", 32), ("%", 32), ("&", 31), (">>", 5)})
_SMALL = 16  # larger numbers are seldom wrong by one
_NEAR = 3  # bits
_MOST_CHANGED = 2
# where the fields of descriptors begin: of a shift to one of them, only shifts to other fields are tried
_FIELD_BITS = frozenset(field.low for form in (WGMMA, TCGEN05) for field in form.fields if field.low)


def list_number_edits(one: StatementWords, changed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, TextEdit]]:
    """Yield (rank, edit) for the usual other values of each number of a statement: rank 0 is the most likely.

    changed: (present, needed) of values that are known to be wrong.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> (one,) = list_statements("d |= (n * 8 & 0x3F) << 61")
    >>> [edit.text for _, edit in list_number_edits(one, [(0, 4), (8, 16)])]
    ['16', '4', '7', '9', '0x7F', '0x1F', '62']
    """
    ratios = list(changed)[:_MOST_CHANGED]
    for n, digits in _list_numbers(one):
        value = parse_literal(digits)
        if _is_shift(one, n):
            others = [value + 1, value - 1, value + 2, value - 2]
            others = [other for other in others if value not in _FIELD_BITS or other in _FIELD_BITS]
            others = [] if _encodes(one, n, value) else others
        else:
            scaled = [] if n and one.words[n - 1] == "&" else ratios
            others = [
                value * needed // present for present, needed in scaled if present and not value * needed % present
            ]
            others += _list_values(value, digits)
        if one.words[n - 1 : n] == ("[",) and one.words[n + 1 : n + 2] == ("]",):  # of a register, mostly
            others = [value + 1, value - 1, *others]
        meant = [other for other in dict.fromkeys(others) if other != value and other >= 0]
        yield from ((rank, _write(one, n, other)) for rank, other in enumerate(meant))


def list_bit_edits(one: StatementWords, bits: Iterable[int]) -> Iterator[TextEdit]:
    """Yield edits of the shifts of a statement that miss one of some bits by a few bits."""
    for n, digits in _list_numbers(one):
        near = [bit for bit in bits if 0 < abs(parse_literal(digits) - bit) < _NEAR]
        yield from (_write(one, n, bit) for bit in near if _is_shift(one, n))


def _list_numbers(one: StatementWords) -> Iterator[tuple[int, str]]:
    """Yield (index of the word, digits) of each number of a statement that counts, masks or shifts.

    Those of the head of a loop are left out: with fewer iterations a mistake often does not show.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> (one,) = list_statements("for (int i = 0; i < 4; ++i) f(i * 8)")
    >>> list(_list_numbers(one))
    [(18, '8')]
    """
    if _NO_VALUES.isdisjoint(one.words):
        first, block = find_head_end(one.words), _find_block_size(one.words)
        for n, word in enumerate(one.words[first:], first):
            match = _NUMBER.fullmatch(word)
            register = "asm" in one.words and one.words[n - 1] == "["
            if match is None or register or word == _CONTIGUOUS or n in block or _is_warp_size(one, n):
                continue
            yield n, match[1]


def _is_warp_size(one: StatementWords, n: int) -> bool:
    """Return whether a number divides threads into warps, as in threadIdx.x % 32; another number is seldom meant.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> [_is_warp_size(one, 6) for one in list_statements("a = threadIdx.x / 32; b = threadIdx.x / 64;")]
    [True, False]
    """
    before = "".join(one.words[max(n - 4, 0) : n - 1])
    return before.endswith("threadIdx.x") and (one.words[n - 1], parse_literal(one.words[n].rstrip("uUlL"))) in _OF_WARP


def find_head_end(words: Sequence[str]) -> int:
    """Return the number of words of the heads of loops that a statement begins with."""
    depth = past = 0
    for n, word in enumerate(words):
        if not depth and word not in ("for", "while", "("):
            break
        depth += (word == "(") - (word == ")")
        past = n + 1 if word == ")" and not depth and words[0] in ("for", "while") else past
    return past


def _find_block_size(words: Sequence[str]) -> range:
    """Return which words are the size of a launch's blocks: with other threads the kernel is another one.

    >>> _find_block_size("f << < dim3 ( m , n ) , 128 , bytes >> > ( a )".split())
    range(10, 11)
    """
    first = next((n for n, word in enumerate(words) if word == "<<" and "<" in words[n + 1 : n + 2]), len(words))
    depth, commas = 0, list[int]()
    for n, word in enumerate(words[first:], first):
        depth += (word in ("(", "{")) - (word in (")", "}"))
        commas += [n] if word == "," and not depth else []
        if word == ">>" and commas:
            return range(commas[0] + 1, (*commas[1:], n)[0])
    return range(0)


def _is_shift(one: StatementWords, n: int) -> bool:
    return n > 0 and one.words[n - 1] in ("<<", ">>")


def _encodes(one: StatementWords, n: int, value: int) -> bool:
    """Return whether a shift divides bytes by the unit of a descriptor's field: (bytes >> 4) << 16."""
    return one.words[n - 1] == ">>" and 1 << value == WGMMA.get_field("sbo").unit and "<<" in one.words


def _write(one: StatementWords, n: int, value: int) -> TextEdit:
    word, span = one.words[n], one.spans[n]
    first = len(word) - len(word.lstrip("_"))
    return write_like(word[first:], (span[0] + first, span[1]), value)


def _list_values(value: int, digits: str) -> Iterator[int]:
    """Yield other values of a number that counts or masks."""
    low = (value & -value).bit_length() - 1
    by_bits = digits[:2].lower() in ("0x", "0b")
    if value > 2 and not (value >> low) & (value >> low) + 1 and (by_bits or not low):
        yield from (value | 1 << value.bit_length(), value ^ 1 << value.bit_length() - 1)  # one bit more, or less
        yield from (value | value >> 1, value & value - 1) if low else ()
    if not by_bits:
        yield from (2 * value, value // 2) if not value % 2 else ()
        yield from (other for other in (value - 1, value + 1) if value and (value < _SMALL or not other % _SMALL))
