"""List the usual other words of a statement: a name like another one, the other axis, the other operator, a factor.

Two names are alike if they differ in one part, such as `warp_m` and `warp_n` or BM and BK, or if they are parts of the
same variable, such as `lane / 4` and `lane % 4`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import combinations, product

from lanescope.ptx.threads import WARP
from lanescope.workbench.repair.usual_edits import find_head_end
from lanescope.workbench.results import TextEdit
from lanescope.workbench.text.dependent_names import WORD, list_assignments
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_enclosing_function
from lanescope.workbench.text.loop_texts import list_loops_at
from lanescope.workbench.text.statement_words import StatementWords, list_statements

_LANE = re.compile(r"(?i)lane|tid|thread|\b[xt]\b")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PITCH = re.compile(r"[A-Z]|(?i:\w*(?:ld|stride|pitch|size|dim|width|rows|col))")
_SPLIT = re.compile(r"[\s(]*([A-Za-z_][\w.]*)\s*(?:[/%&]|>>)")
_LONGEST_INDEX = 5  # words
_LONGEST = 3  # letters of a name of one part that another letter makes another one: BM and BN
_OPPOSITES = {  # words in place of each other: how seldom
    frozenset(pair.split()): rank
    for rank, pairs in enumerate((("m n", "x y", "row col", "row column", "rows cols", "r c", "g t"),
                                  ("a b", "lane warp", "i j", "m k", "n k"), ("i k", "j k")))
    for pair in pairs
}  # fmt: skip
_AXES = {"x": "y", "y": "x"}
_INDICES = {"blockIdx": 0, "gridDim": 1, "threadIdx": 2, "blockDim": 2}
_OPERATORS = {"/": ("%", 0), "%": ("/", 0), "+": ("-", 4), "<": ("<=", 3), "<=": ("<", 3)}
_RANK_OF_FACTOR, _RANK_OF_INDEX, _RANK_OF_XOR, _RANK_OF_PITCH = 4, 2, 1, 2
_OPENING, _ENDS = frozenset("(*[,+=") | {"+="}, frozenset(")+-],;")
_FACTORS = {"2": 1, "8": _RANK_OF_FACTOR}  # columns of a register pair, rows of a core matrix
_AFTER_XOR = frozenset(("]", ",", "^", "|", "?", ":", ";"))


def list_name_edits(
    text: str, one: StatementWords, is_size: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[int, TextEdit]]:
    """Yield (rank, edit) for the usual other words of a statement: rank 0 is the most likely. is_size: whether a name
    is one of M, N and K, which may be meant by any factor.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> text = "__global__ void f(int M, int N) { int row = lane / 4, col = lane % 4; p = q + row * N + M; }"
    >>> one = list_statements(text)[-1]
    >>> [(text[slice(*edit.span)], edit.text) for rank, edit in list_name_edits(text, one) if not rank]
    [('row', 'col'), ('N', 'M'), ('M', 'N')]
    """
    if one.words[:2] == ("if", "constexpr"):
        return
    blank = blank_text(text)
    function = find_enclosing_function(blank, one.span[0])
    names, parts, sizes = _describe_names(blank, function, is_size) if function is not None else ((), {}, [])
    for n in range(find_head_end(one.words), len(one.words)):
        ranks = _rank_words(one, n, names, parts)
        if "*" in one.words[max(n - 1, 0) : n + 2] and _PITCH.match(one.words[n]):
            others = {name: _rank_size(name, one.words[n]) for name in sizes if name not in (one.words[n], *ranks)}
            constants = _list_factors(blank) - {one.words[n]} if one.words[n].isupper() else ()
            ranks = {**dict.fromkeys(constants, _RANK_OF_PITCH), **ranks, **others}
        yield from ((rank, TextEdit(one.spans[n], word)) for word, rank in ranks.items())
    yield from ((0, edit) for edit in (*_list_argument_edits(text, one), *_list_lane_edits(one)))
    yield from _list_pair_edits(text, one, names)
    yield from ((_RANK_OF_INDEX, edit) for edit in _list_index_edits(blank, one))
    yield from _list_factor_edits(one, parts)
    yield from ((_RANK_OF_PITCH, edit) for edit in _list_step_edits(one, sizes))
    yield from ((_RANK_OF_XOR, edit) for edit in _list_xor_edits(blank, one))


def list_head_edits(text: str, one: StatementWords) -> Iterator[tuple[int, TextEdit]]:
    """Yield (rank, edit) for a name like another one, or a step, in the head of a loop.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> text = "__global__ void f() { tile[BM * BN]; for (int i = 0; i < BM; i += 16) tile[i] = 0; }"
    >>> [(text[slice(*edit.span)], edit.text) for _, edit in list_head_edits(text, list_statements(text)[-1])]
    [('BM', 'BN'), ('16', '32'), ('16', '8')]
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, one.span[0])
    names = _describe_names(blank, function, lambda _: False)[0] if function is not None else ()
    for n, word in enumerate(one.words[: find_head_end(one.words)]):
        ranks = ((name, _rank_name(word, name)) for name in names if word.isupper() or not word.islower())
        yield from ((rank, TextEdit(one.spans[n], name)) for name, rank in ranks if rank is not None)
        if one.words[max(n - 1, 0)] == "+=" and word.isdecimal():
            yield from ((1, TextEdit(one.spans[n], str(step))) for step in (2 * int(word), int(word) // 2) if step)


@lru_cache(maxsize=8)
def _list_factors(blank: str) -> Set[str]:
    """Return the constants that are factors in a text, such as the pitches of its arrays.

    >>> sorted(_list_factors("x = row * PITCH + TILE * 2 + LAST"))
    ['PITCH', 'TILE']
    """
    pairs = (pair for one in list_statements(blank) for pair in zip(one.words, one.words[1:], strict=False))
    return {word for pair in pairs if "*" in pair for word in pair if word.isupper()}


def _describe_names(
    blank: str, function: FunctionText, is_size: Callable[[str], bool]
) -> tuple[tuple[str, ...], dict[str, list[str]], list[str]]:
    """Return the names that a function uses, the parts of its variables, and which names are sizes of matrices."""
    given = (*function.parameters, *function.templates)
    names = _find_names(blank[slice(*function.body)], given)
    sizes = [name for name in names if is_size(name) and (name in given or name.isupper())]
    return names, _group_parts(blank, function), sizes


def _rank_size(size: str, word: str) -> int:
    """Return how seldom a size is meant by a factor: a tile's is written for a matrix's, or one pitch for another."""
    return 2 if word.isupper() and size.upper() not in word else 1


def _list_pair_edits(text: str, one: StatementWords, names: Sequence[str]) -> Iterator[tuple[int, TextEdit]]:
    """Yield (rank, edit) that exchange two names of a statement, or a quotient and a remainder, each by its own number.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> text = "int x = warp % WARPS_M; p = c + (y + i * 16) * N + j * 8;"
    >>> names = ["WARPS_M", "WARPS_N"]
    >>> [edit.text for one in list_statements(text) for _, edit in _list_pair_edits(text, one, names)]
    ['/ WARPS_N', 'j * 16) * N + i']
    """
    first = find_head_end(one.words)
    for n in range(first + 1, len(one.words) - 1):
        if one.words[n] in ("/", "%"):
            at, word = one.find_span(n, n + 2), one.words[n + 1]
            ranks = ((name, _rank_name(word, name)) for name in names)
            operator = "%" if one.words[n] == "/" else "/"
            yield from ((rank, TextEdit(at, f"{operator} {name}")) for name, rank in ranks if rank is not None)
    words = [word if word.isidentifier() and one.words.count(word) == 1 else "" for word in one.words]
    for n, m in combinations((n for n, word in enumerate(words) if word and n >= first), 2):
        rank = _rank_name(words[n], words[m])
        if rank is not None:
            yield rank + 1, _exchange(text, one, range(n, n + 1), range(m, m + 1))


def _list_argument_edits(text: str, one: StatementWords) -> Iterator[TextEdit]:
    """Yield edits that exchange two arguments in sequence that are of the two dimensions of a matrix.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> text = "store(&map, smem, row + warp * 16, col)"
    >>> [edit.text for edit in _list_argument_edits(text, list_statements(text)[0])]
    ['col, row + warp * 16']
    """
    ends = [n for n, word in enumerate(one.words) if word in ("(", ",", ")")]
    for before, between, after in zip(ends, ends[1:], ends[2:], strict=False):
        if one.words[between] == ",":
            sides = range(before + 1, between), range(between + 1, after)
            pairs = product(*([one.words[n] for n in side if one.words[n].isidentifier()] for side in sides))
            if len(sides[0]) + len(sides[1]) > 2 and any(_rank_name(word, other) == 0 for word, other in pairs):
                yield _exchange(text, one, *sides)


def _exchange(text: str, one: StatementWords, first: range, second: range) -> TextEdit:
    """Return the edit that exchanges two sequences of words of a statement."""
    at, other = (one.find_span(words.start, words.stop) for words in (first, second))
    return TextEdit((at[0], other[1]), text[slice(*other)] + text[at[1] : other[0]] + text[slice(*at)])


def _list_lane_edits(one: StatementWords) -> Iterator[TextEdit]:
    """Yield edits that take the quotient of a lane in place of a remainder that has as many values, or the reverse."""
    for n in range(find_head_end(one.words) + 1, len(one.words) - 1):
        if _LANE.search(one.words[n - 1]) and one.words[n + 1].isdecimal():
            other = _split_otherwise(one.words[n], int(one.words[n + 1]))
            yield from [TextEdit(one.find_span(n, n + 2), other)] if other else ()


def _split_otherwise(operator: str, number: int) -> str:
    """Return the quotient of a lane that has as many values as a remainder, or the reverse; "" for other operations.

    >>> [_split_otherwise(*split) for split in (("%", 8), ("/", 4), ("&", 7), (">>", 2), ("&", 5), ("%", 32))]
    ['/ 4', '% 8', '>> 2', '& 7', '', '']
    """
    if operator in ("/", "%") and number in (2, 4, 8, 16):
        return f"{'%' if operator == '/' else '/'} {WARP // number}"
    if operator == "&" and number in (1, 3, 7, 15):
        return f">> {(WARP // (number + 1)).bit_length() - 1}"
    return f"& {(WARP >> number) - 1}" if operator == ">>" and 0 < number < 5 else ""


def _list_step_edits(one: StatementWords, sizes: Sequence[str]) -> Iterator[TextEdit]:
    """Yield edits that step a pointer over rows of a matrix, by as many as it now steps over elements.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> [edit.text for edit in _list_step_edits(list_statements("B += BK;")[0], ["N", "K"])]
    [' * N', ' * K']
    """
    step = one.words[2] if len(one.words) in (3, 4) and one.words[1] == "+=" else ""
    if step.isalnum() and step not in sizes:
        yield from (TextEdit((one.spans[2][1],) * 2, f" * {size}") for size in sizes)


def _list_index_edits(blank: str, one: StatementWords) -> Iterator[TextEdit]:
    """Yield edits that put the variable of a loop around a statement in place of a whole index.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> blank = "void f() { for (int mi = 0; mi < 2; ++mi) { mma(acc[mi], a[ni & 1]); } }"
    >>> [(blank[slice(*edit.span)], edit.text) for edit in _list_index_edits(blank, list_statements(blank)[-1])]
    [('ni & 1', 'mi')]
    """
    variables = [loop.variable for loop in list_loops_at(blank, one.span[0]) if loop.variable]
    opening = list[int]()
    for n, word in enumerate(one.words):
        if word == "]" and opening:
            at = opening.pop() + 1
            if n - at > 1 and n - at <= _LONGEST_INDEX:
                yield from (TextEdit(one.find_span(at, n), name) for name in variables)
        opening += [n] if word == "[" else []


def _rank_words(
    one: StatementWords, n: int, names: Sequence[str], parts: Mapping[str, Sequence[str]]
) -> Mapping[str, int]:
    """Return the usual other words for one, each with how seldom it is meant. parts: see _group_parts."""
    word, before = one.words[n], one.words[n - 1] if n else ""
    if before in (".", "->"):
        index = one.words[n - 2]
        return {_AXES[word]: _INDICES[index]} if word in _AXES and index in _INDICES else {}
    if word in _OPERATORS and before and before not in _OPENING:
        return dict([_OPERATORS[word]])
    if not word.isidentifier() or one.words[n + 1 : n + 2] in (("=",), ("(",)):
        return {}
    ranks = {name: rank for name in names if (rank := _rank_name(word, name)) is not None}
    return ranks | {name: min(rank, ranks.get(name, rank)) for rank, name in enumerate(parts.get(word, ()))}


def _list_factor_edits(one: StatementWords, parts: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, TextEdit]]:
    """Yield (rank, edit) that omit a factor, or give one to a remainder or to a name made of one."""
    for n, word in enumerate(one.words):
        past = one.words[n + 2] if n + 2 < len(one.words) else ";"
        if word == "*" and 0 < n < len(one.words) - 1 and past in _ENDS and one.words[n - 1] not in _OPENING:
            yield _RANK_OF_FACTOR, TextEdit(one.find_span(n, n + 2), "")
        before, after = (one.words[m] if 0 <= m < len(one.words) else ";" for m in (n - 1, n + 1))
        if after in _ENDS and (before == "%" or (word in parts and before in _OPENING - {"*"})):
            at = one.spans[n][1]
            yield from ((rank, TextEdit((at, at), f" * {factor}")) for factor, rank in _FACTORS.items())


def _list_xor_edits(blank: str, one: StatementWords) -> Iterator[TextEdit]:
    """Yield edits that give an XOR the bits of a row that others of the text have.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> blank = "to = c ^ (r & 3); from = chunk ^ ((row >> 1) & 3);"
    >>> [edit.text for edit in _list_xor_edits(blank, list_statements(blank)[0])]
    ['((r >> 1) & 3)']
    """
    for n, past, name, form in _list_xor_operands(one):
        others = {other for of in list_statements(blank) for *_, other in _list_xor_operands(of)} - {form}
        yield from (TextEdit(one.find_span(n, past), _write_form(other, name)) for other in sorted(others))


def _list_xor_operands(one: StatementWords) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
    """Yield (first word, past the last one, its only name, its words with "" for the name) of right operands of XOR."""
    for n in (n + 1 for n, word in enumerate(one.words) if word == "^"):
        depth, past = 0, n
        while past < len(one.words) and depth >= 0 and (depth or one.words[past] not in _AFTER_XOR):
            depth += (one.words[past] == "(") - (one.words[past] == ")")
            past += depth >= 0
        names = {word for word in one.words[n:past] if word.isidentifier()}
        if len(names) == 1:
            name = names.pop()
            yield n, past, name, tuple("" if word == name else word for word in one.words[n:past])


def _write_form(form: Sequence[str], name: str) -> str:
    """Return an operand of XOR with a name."""
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(word or name for word in form))


@lru_cache(maxsize=64)
def _find_names(body: str, parameters: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a function uses."""
    return tuple(dict.fromkeys((*parameters, *WORD.findall(body))))


@lru_cache(maxsize=64)
def _group_parts(blank: str, function: FunctionText) -> dict[str, list[str]]:
    """Return, for each name that a function sets to a part of a variable, the others that are parts of it."""
    roots: dict[str, list[str]] = defaultdict(list)
    split = ((name, _SPLIT.match(value)) for name, value in list_assignments(blank, function))
    values = {name: value[1] for name, value in split if value is not None}
    for name, root in values.items():
        roots[root].append(name)
    return {name: [other for other in roots[root] if other != name] for name, root in values.items()}


@lru_cache(maxsize=1 << 16)
def _rank_name(name: str, other: str) -> int | None:
    """Return how seldom a name is written for another one that differs in one part; None if they are not alike.

    >>> [_rank_name("warp_m", other) for other in ("warp_n", "warp_k", "lane_m", "warp_row", "block_m")]
    [0, 1, 1, None, None]
    >>> _rank_name("BM", "BN"), _rank_name("WM_dim", "WN_dim"), _rank_name("row", "col"), _rank_name("lda", "ldb")
    (0, 0, 0, 1)
    """
    if name == other or _PARTS.sub("#", name) != _PARTS.sub("#", other):
        return None
    pairs = zip(_PARTS.findall(name), _PARTS.findall(other), strict=True)
    left = [pair for pair in pairs if pair[0] != pair[1]]
    if len(left) == 1 and frozenset(map(str.lower, left[0])) not in _OPPOSITES:
        left = _list_letters(*left[0])
    if len(left) != 1 or left[0][0].isupper() != left[0][1].isupper():
        return None
    return _OPPOSITES.get(frozenset(map(str.lower, left[0])))


def _list_letters(part: str, other: str) -> list[tuple[str, str]]:
    """Return the letters of short parts of names that differ."""
    short = len(part) == len(other) <= _LONGEST
    return [pair for pair in zip(part, other, strict=True) if pair[0] != pair[1]] if short else []
