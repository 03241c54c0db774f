"""List the edits that undo usual mistakes of CuTe: another atom, layout or remainder, or what a twin statement has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.workbench.reads.twin_statements import list_twin_edits
from lanescope.workbench.results import CheckFinding, TextEdit
from lanescope.workbench.text.loop_texts import list_loops_at
from lanescope.workbench.text.statement_words import StatementWords

MOST_NEAR = 3  # differences of twins that are tried for a mistake in the order, which most often lacks a barrier
_OF_DESCRIPTORS = ("cute_not_canonical", "cute_tile_indivisible")
_OF_ORDER = ("refill_early", "copy_wait_short")
CAUSED_ELSEWHERE = frozenset(
    "cute_not_canonical cute_tile_indivisible cute_copy_misfit cute_gemm_misfit"
    " cute_index_over fragment_mismatch tile_not_filled stores_overlap"
    " store_misaligned k_repeated rows_repeated rows_misaligned trans_missing trans_extra trans_or_exchanged"
    " matrices_exchanged registers_exchanged k_step_differs k_slice_repeated k_slice_wrong operand_array"
    " result_misplaced refill_early copy_wait_short".split()
)
_ATOMS = (("SM75_U32x1_LDSM_N", "SM75_U16x2_LDSM_T"), ("SM75_U32x2_LDSM_N", "SM75_U16x4_LDSM_T"),
          ("SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T"))  # fmt: skip
_ATOM = re.compile(r"\bSM75_U\w+_LDSM_[NT]\b")
_STRIDE = re.compile(r"\bmake_stride\s*\(|\bStride\s*<")
_SHAPE = re.compile(r"\b(?:make_shape\s*\(|Shape\s*<)\s*((?:Int\s*<\s*\w+\s*>|_?\w+)(?:\s*\{\s*\})?)\s*,"
                     r"\s*((?:Int\s*<\s*\w+\s*>|_?\w+)(?:\s*\{\s*\})?)\s*[)>]")  # fmt: skip
_SIZE = r"(?:Int\s*<\s*1\s*>|_1|[A-Za-z_][\w.]*)(?:\s*\{\s*\})?"
_STRIDES = re.compile(rf"\bmake_stride\s*\(\s*(?P<both>(?P<first>{_SIZE})\s*,\s*(?P<second>{_SIZE}))\s*\)")
_ORDER = re.compile(r"\bLayout(Left|Right)\b")
_STEP = re.compile(r"\bStep\s*<\s*((?:_1|X)\s*,\s*(?:_1|X)\s*,\s*(?:_1|X))\s*>")
_SLICE = re.compile(r"(?:\b_\s*,\s*)+(\d+)(?=\s*[,)])")
_STEPS = "_1 X _1", "X _1 _1", "_1 _1 X"
_ONE = re.compile(r"\s*(?:\bInt\s*<\s*1\s*>|\b_1\b)")
_WRAP = re.compile(r"\w\s*(>=?|<=?|!=)\s*[\w:]+\s*\)?\s*\?\s*0\b")
_COUNTS = (
    re.compile(r"%\s*(\(\s*(\w+(?:::\w+)*)\s*[-+*/]\s*\d+\s*\))"),
    re.compile(r"\bInt\s*<\s*((\w+(?:::\w+)*)\s*[-+*/]\s*\d+)\s*>"),
)


def list_cute_edits(blank: str, findings: Sequence[CheckFinding]) -> Iterator[tuple[TextEdit, bool]]:
    """Yield the edits that may undo a mistake in a kernel of CuTe, of each kind the likely ones first; whether each is
    a repair, not only the place of one.
    """
    if not names_cute(blank) or any(finding.code not in CAUSED_ELSEWHERE for finding in findings):
        return
    places = [finding.span for finding in findings]

    def measure(edit: TextEdit) -> int:
        return min(abs(edit.span[0] - place[0]) for place in places)

    twins = sorted(list_twin_edits(blank), key=measure)
    kinds: list[tuple[Iterable[TextEdit], bool]]
    if findings[0].code in _OF_DESCRIPTORS:
        kinds = [(twins, True)]  # the major of an atom and that of a layout would both be right
    elif findings[0].code in _OF_ORDER:
        kinds = [(_list_counts(blank), True), (twins[:MOST_NEAR], True)]
    else:
        kinds = [(_list_counts(blank), True), (twins, True), (_list_atoms(blank), True), (_list_layouts(blank), False)]
        kinds.append((_list_steps(blank), False))
    lists = [[(edit, certain) for edit in dict.fromkeys(edits)] for edits, certain in kinds]
    for turn in zip_longest(*lists):
        yield from (entry for entry in turn if entry is not None)


def list_layout_edits(text: str, one: StatementWords, sizes: Sequence[str]) -> Iterator[TextEdit]:
    """Yield edits of the strides of a matrix, and of the modes of its tile that a Step leaves out. sizes: of matrices.

    >>> from lanescope.workbench.text.statement_words import list_statements
    >>> text = "auto a = make_stride(m, Int<1>{}); auto t = local_tile(b, s, c, Step<_1, X, _1>{});"
    >>> [edit.text for one in list_statements(text) for edit in list_layout_edits(text, one, ["m", "k"])]
    ['k', 'Int<1>{}, m', 'X, _1, _1', '_1, _1, X']
    """
    for match in _STRIDES.finditer(text, *one.span):
        for name in ("first", "second"):
            others = sizes if match[name] in sizes else ()
            yield from (TextEdit(match.span(name), size) for size in others if size != match[name])
        yield TextEdit(match.span("both"), f"{match['second']}, {match['first']}")
    for match in _ORDER.finditer(text, *one.span):
        yield TextEdit(match.span(1), "Left" if match[1] == "Right" else "Right")
    yield from _list_steps(text, one.span)
    for match in _SLICE.finditer(text, *one.span):
        variables = dict.fromkeys(loop.variable for loop in list_loops_at(text, match.start()) if loop.variable)
        yield from (TextEdit(match.span(1), name) for name in variables)


def _list_atoms(blank: str) -> Iterator[TextEdit]:
    """Yield each atom of ldmatrix with the one that transposes in its place, or does not, or loads another width."""
    widths = {name: n for n, pair in enumerate(_ATOMS) for name in pair}
    for match in _ATOM.finditer(blank):
        n = widths.get(match[0])
        if n is None:
            continue
        turned = _ATOMS[n].index(match[0])
        yield TextEdit(match.span(), _ATOMS[n][1 - turned])
        yield from (TextEdit(match.span(), _ATOMS[other][turned]) for other in (n + 1, n - 1) if 0 <= other < 3)


def _list_steps(blank: str, place: tuple[int, int] | None = None) -> Iterator[TextEdit]:
    """Yield each Step of a tile with the others in its place. place: where, by default all of the text."""
    for match in _STEP.finditer(blank, *(place or (0,))):
        words = " ".join(match[1].replace(",", " ").split())
        yield from (TextEdit(match.span(1), ", ".join(other.split())) for other in _STEPS if other != words)


def _list_counts(blank: str) -> Iterator[TextEdit]:
    """Yield remainders and sizes without the number that is added to a name: `% kStages` for `% (kStages + 1)`."""
    for pattern in _COUNTS:
        yield from (TextEdit(match.span(1), match[2]) for match in pattern.finditer(blank))
    yield from (TextEdit(match.span(1), "==") for match in _WRAP.finditer(blank))


def _list_layouts(blank: str) -> Iterator[TextEdit]:
    """Yield shapes of two sizes with these exchanged, and the strides of layouts with compact ones in their place."""
    shapes = [match for match in _SHAPE.finditer(blank) if match[1] != match[2]]
    shapes.sort(key=lambda match: not _ONE.search(match[0]))
    vectors = [match for match in shapes if _ONE.search(match[0])]
    yield from map(_exchange_sizes, vectors)
    for match in _STRIDE.finditer(blank):
        is_type = blank[match.end() - 1] == "<"
        past = _find_past(blank, match.end() - 1)
        sizes = _ONE.findall(blank, match.end(), past)
        first = _ONE.match(blank, match.end())
        names = ("LayoutRight",) if first else ("LayoutLeft",) if sizes else ("LayoutRight", "LayoutLeft")
        for name in names:
            yield TextEdit((match.start(), past), name if is_type else f"{name}{{}}")
    yield from map(_exchange_sizes, shapes[len(vectors) :])


def _exchange_sizes(match: re.Match[str]) -> TextEdit:
    between = match.string[match.end(1) : match.start(2)]
    return TextEdit((match.start(1), match.end(2)), f"{match[2]}{between}{match[1]}")


def _find_past(blank: str, at: int) -> int:
    """Return the place past the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, min(len(blank), at + 500)):
        depth += (blank[place] in "(<") - (blank[place] in ")>")
        if not depth:
            return place + 1
    return at + 1
