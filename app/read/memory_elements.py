"""Questions about an element in shared or tensor memory: `byte of A[5][9] with the 128B swizzle`, `row 70 of D in
tensor memory`. The page of the tile, or of tensor memory, has the answer in its find field.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlencode

from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.read.element_texts import ASKING, ElementQuestion, parse_question
from lanescope.app.read.facts import Meaning
from lanescope.bits import round_up
from lanescope.errors import LayoutError
from lanescope.names import forms, search, vocabulary
from lanescope.ptx.dtypes import DTYPES, get_dtype
from lanescope.ptx.table.tmem import COLUMNS, LANES
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tile_text import MAJORS
from lanescope.shared.tma import WIDTHS

_WORD = re.compile(r"[\w:<>,-]+")
_TENSOR = frozenset(("tensor", "tmem"))
_SHARED = frozenset(
    """address addresses bank banks byte bytes compute computed elements major memory mode offset offsets shared smem
    stored swizzle swizzled tile""".split()
)
MODES = {  # as people write a mode → the mode
    **{spelling: mode for mode in ("32B", "64B", "128B") for spelling in (mode.lower(), f"sw{mode[:-1]}")},
    "swizzle<3,4,3>": "128B",
    "swizzle<2,4,3>": "64B",
    "swizzle<1,4,3>": "32B",
}
_MAJORS = {word: major for word, major in MAJORS.items() if word.endswith("-major")}
_IN_TENSOR = re.compile(r"\b(?:tmem|tensor memory)\b", re.I)
_PRODUCT = re.compile(
    r"\bm\s*=?\s*(?P<m>64|128|256)[\s,]*n\s*=?\s*(?P<n>\d{1,3})(?:\s*k\s*=?\s*\d{1,3})?\b"
    r"|\b(?P<rows>64|128|256)\s*[x×]\s*(?P<cols>\d{1,3})\b",
    re.I,
)
_LANE = re.compile(r"\blane\s*(\d{1,6})\b", re.I)
_COLUMN = re.compile(r"\bcol(?:umn)?\s*(\d{1,6})\b", re.I)
_BESIDE_CELL = frozenset(  # words of a question about a cell of tensor memory
    "what which element row column is lies in at of the d tmem tensor memory for and product tcgen05 umma holds".split()
)
_BYTE = re.compile(r"\b(?:byte|offset)\s*(?P<byte>0x[0-9a-f]{1,5}|\d{1,5})\b", re.I)
SIZES = re.compile(r"(?<![\w.])[{(\[]?\s*(?!0x)(\d{1,4})\s*(?:[x×,]|by)\s*(\d{1,4})\s*[})\]]?(?![\w.])", re.I)
_BITS = 16  # of an element that the text does not name
_ROWS = 64
_MOST_N = 256  # of a product
ROWS_OF_CTA = 128  # of D in tensor memory


def answer_question(text: str) -> Meaning | LayoutError | None:
    """Answer a question about an element in shared memory under a swizzle, or of D in tensor memory, or say why it is
    outside; None for any other text.
    """
    try:
        return _answer_place(text)
    except LayoutError as error:
        return error


def _answer_place(text: str) -> Meaning | None:
    text, sizes = _find_product(text)
    if cell := _find_cell(text):
        return _link_cell(*cell, sizes)
    if byte := _BYTE.search(text):
        return _link_byte(text[: byte.start()] + text[byte.end() :], int(byte["byte"], 0))
    question = parse_question(re.sub(r"(?i)(swizzle<\d,\d,\d>)", lambda match: match[1].replace(" ", ""), text))
    if (
        question is None
        or question.narrowing
        or any(place.thread is not None or place.odd for place in question.places)
    ):
        return None
    listed = [word for word in list_words(question.rest) if not forms.is_opcode(word)]
    words = [word for word in listed if not search.split_shape(word)]
    if (
        len(words) == len(listed)
        and not _TENSOR.isdisjoint(words)
        and _TENSOR.union(("memory", "column", "address")).issuperset(words)
    ):
        return _link_tensor(question, sizes)
    return _link_shared(question, words) if all(place.coords for place in question.places) else None


def _find_product(text: str) -> tuple[str, dict[str, str]]:
    """Return a text about tensor memory without the sizes of its product, and these: m, n, the CTAs; {} if none."""
    found = list(_PRODUCT.finditer(text)) if _IN_TENSOR.search(text) else []
    if len(found) != 1:
        return text, {}
    m, n = found[0]["m"] or found[0]["rows"], found[0]["n"] or found[0]["cols"]
    step = 8 if m == "64" else 16  # PTX ISA 9.1, table 39
    if int(n) % step or not 0 < int(n) <= _MOST_N:
        hint = f"With M {m}, N is a multiple of {step}, at most {_MOST_N}."
        raise LayoutError("bad_coordinate", f"No tcgen05.mma has M {m} and N {n}.", hint, "text")
    pair = {"cta_group": "2"} if int(m) > ROWS_OF_CTA else {}
    return f"{text[: found[0].start()]} {text[found[0].end() :]}", {"m": m, "n": n, **pair}


def _find_cell(text: str) -> tuple[int, int] | None:
    """Return the lane and the column of a cell of tensor memory that a text asks for, None if it does not.

    LayoutError for words beside them, which may place D elsewhere.
    """
    lanes, columns = _LANE.findall(text), _COLUMN.findall(text)
    if not _IN_TENSOR.search(text) or len(lanes) != 1 or len(columns) != 1:
        return None
    rest = _COLUMN.sub(" ", _LANE.sub(" ", text))
    unread = [word for word in re.findall(r"[\w:.]+", rest.lower()) if word not in _BESIDE_CELL and word not in DTYPES]
    if unread:
        message = f"‘{unread[0]}’ is not read beside a lane and a column of tensor memory."
        raise LayoutError("bad_text", message, "Write tmem lane 35 column 7 D m64n64; /tmem takes the rest.", "text")
    return int(lanes[0]), int(columns[0])


def _link_cell(lane: int, column: int, sizes: dict[str, str]) -> Meaning:
    """Link to the element in a cell of tensor memory, if D of a product, of one CTA by default, begins at column 0."""
    sought = f"lane {lane} column {column}"
    if lane >= LANES or column >= COLUMNS:
        hint = f"Its lanes go from 0 to {LANES - 1} and its columns from 0 to {COLUMNS - 1}."
        raise LayoutError("bad_coordinate", f"Tensor memory has no {sought}.", hint, "text")
    query = {"m": str(ROWS_OF_CTA), "n": str(max(128, round_up(column + 1, 16))), **sizes, "find": sought}
    link = f"/tmem?{urlencode(query)}"
    notice = f"For D of a product with {query['m']} rows, from column 0; the page takes any other."
    return Meaning(kind="topic", title=f"{sought} in tensor memory", link=link, facts={"page": link}, notices=(notice,))


def _link_byte(rest: str, byte: int) -> Meaning | None:
    """Link to the element at a byte of a swizzled tile; None if the rest of the text is about something else."""
    words = list_words(rest)
    modes = {MODES[word] for word in words if word in MODES}
    if len(modes) != 1 or not {*words} <= {*MODES, *_SHARED, *_MAJORS, "lie", "lies", "element", "goes", "go"}:
        return None
    mode = modes.pop()
    major = next((_MAJORS[word] for word in words if word in _MAJORS), "K")
    rows = round_up(byte // WIDTHS[mode] + 1, _ROWS)
    atom = WIDTHS[mode] * 8 // _BITS
    lengths = {"mn": rows, "k": atom} if major == "K" else {"mn": max(atom, _ROWS), "k": rows}
    goes = get_mode(mode).swizzle()(byte) if {"go", "goes"}.intersection(words) else byte
    query = {"element_bits": _BITS, "major": major, "swizzle": mode, **lengths, "find": hex(goes)}
    link = f"/smem?{urlencode(query)}"
    notice = f"Assumed: {_BITS}-bit elements of a {major}-major tile. The page takes any other."
    title = f"Byte {hex(byte)} of a tile with the {mode} swizzle"
    if {"go", "goes"}.intersection(words):  # an offset before the XOR
        title = f"Byte {byte} ({byte:#x}) goes to byte {goes} ({goes:#x}) with the {mode} swizzle"
    return Meaning(kind="topic", title=title, link=link, facts={"page": link}, notices=(notice,))


def list_words(text: str) -> list[str]:
    """List the words of a text other than those of a question or sentence."""
    words = [word.strip(",:") for word in _WORD.findall(text.lower())]
    return [word for word in words if word and word not in ASKING | vocabulary.SILENT | vocabulary.ARTICLES]


def _link_tensor(question: ElementQuestion, sizes: dict[str, str]) -> Meaning | None:
    columns = [place.coords[1] if place.coords else 0 for place in question.places]
    for place in question.places:
        if place.letter not in ("d", "c") or place.is_warp or place.index is not None:
            return None
        if place.line and place.line[0] != "row":
            return None
    sought = question.text.replace("C[", "D[").replace("of C", "of D")
    rows = [place.coords[0] if place.coords else place.line[1] if place.line else 0 for place in question.places]
    _check_cell(max(rows), max(columns), sought, sizes)
    ctas = 2 if max(rows) >= ROWS_OF_CTA else 1
    query = {
        "m": str(ctas * ROWS_OF_CTA),
        **({"cta_group": "2"} if ctas > 1 else {}),
        "n": str(max(128, -(-(max(columns) + 1) // 16) * 16)),
        **sizes,
        "find": sought,
    }
    link = f"/tmem?{urlencode(query, safe='[]')}"
    who = "two CTAs" if "cta_group" in query else "one CTA"
    notice = f"For a product with {query['m']} rows by {who}; the page takes any other."
    return Meaning(kind="topic", title=f"{sought} in tensor memory", link=link, facts={"page": link}, notices=(notice,))


def _check_cell(row: int, column: int, sought: str, sizes: dict[str, str]) -> None:
    """Raise LayoutError for a row or a column that D does not have. sizes: m and n of its product, or {}."""
    m, n = int(sizes.get("m", 2 * ROWS_OF_CTA)), int(sizes.get("n", COLUMNS))
    if row >= m or column >= n:
        whose = f"D of {m} × {n}" if sizes else "D of two CTAs in tensor memory"
        hint = f"Its rows go from 0 to {m - 1} and its columns from 0 to {n - 1}."
        raise LayoutError("bad_coordinate", f"{whose} has no {sought}.", hint, "text")


def _link_shared(question: ElementQuestion, words: list[str]) -> Meaning | None:
    modes = {MODES[word] for word in words if word in MODES}
    majors = {_MAJORS[word] for word in words if word in _MAJORS}
    types = [spelling for word in words for spelling in vocabulary.SYNONYMS.get(word, (word,)) if spelling in DTYPES]
    named = (*_SHARED, *MODES, *_MAJORS, *vocabulary.SYNONYMS, *DTYPES)
    if len(modes) != 1 or len(majors) > 1 or any(word not in named for word in words):
        return None
    _check_size(question)
    places = [_order_mn_first(place) for place in question.places if place.coords]
    mode, major, bits = modes.pop(), next(iter(majors), "K"), get_dtype(types[0]).bits if types else _BITS
    assumed = [f"{bits}-bit elements"] * (not types) + [f"{major}-major"] * (not majors)
    notices = (f"Assumed: {' and '.join(assumed)}. The page takes any other.",) if assumed else ()
    if any(place.letter == "b" for place in question.places):
        notices = (*notices, "B is K × N: the page writes its element [n][k].")
    return replace(_link_tile(places, mode, major, bits), notices=notices)


def _check_size(question: ElementQuestion) -> None:
    """Raise LayoutError if an element is outside the size of the tile that the text gives."""
    sizes = SIZES.findall(question.rest)
    if len(sizes) != 1:
        return
    rows, cols = map(int, sizes[0])
    for place in question.places:
        if place.coords and (place.coords[0] >= rows or place.coords[1] >= cols):
            hint = f"Its rows go from 0 to {rows - 1} and its columns from 0 to {cols - 1}."
            message = f"A tile of {rows} × {cols} has no element [{place.coords[0]}][{place.coords[1]}]."
            raise LayoutError("bad_coordinate", message, hint, "text")


def _order_mn_first(place: SoughtPlace) -> tuple[int, int]:
    """Return the coordinates of an element in the order of a tile, (mn, k); B is K × N."""
    assert place.coords
    return place.coords[::-1] if place.letter == "b" else place.coords


def _link_tile(places: list[tuple[int, int]], mode: str, major: str, bits: int) -> Meaning:
    """Link to the smallest tile that contains these elements, (mn, k)."""
    atom = WIDTHS[mode] * 8 // bits
    row, col = (max(place[axis] for place in places) for axis in (0, 1))
    lengths = {"mn": round_up(row + 1, _ROWS), "k": round_up(col + 1, atom)}
    if major == "MN":
        lengths = {"mn": round_up(row + 1, max(atom, _ROWS)), "k": round_up(col + 1, 16)}
    sought = " and ".join(f"[{place[0]}][{place[1]}]" for place in places)
    query = {"element_bits": bits, "major": major, "swizzle": mode, **lengths, "find": sought}
    link = f"/smem?{urlencode(query, safe='[]')}"
    title = f"{'Elements' if places[1:] else 'Element'} {sought} of a tile with the {mode} swizzle"
    return Meaning(kind="topic", title=title, link=link, facts={"page": link}, notices=())
