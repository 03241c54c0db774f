"""What a find field asks for: an element, a value, a register or a thread, as people write them. No framework."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

MOST_TOGETHER = 2  # places that a page compares
_JOIN = re.compile(r"\s*(?:;|\bvs\.?(?=\s)|\band\b|\bversus\b)\s*", re.IGNORECASE)
_THREAD = r"(?:warp\s*(?P<warp>\d{1,9})\s*,?\s*)?(?P<unit>lane|thread|[tl]{more})\s*(?P<thread>\d{1,9})"
_OF = r"\s*(?:of|in|on|,|@)?\s*"


@dataclass(frozen=True, slots=True)
class SoughtPlace:
    """One place that a text names; what it leaves open is None, and `matrix` "".

    coords: row and column; index: the number of the element in row-major order; thread, with `warp` a lane of that
    warp; is_lane: whether the thread was called a lane; unit: what it was called, "" for lane and thread; register,
    value: of that thread.
    """

    matrix: str = ""
    coords: tuple[int, int] | None = None
    index: int | None = None
    thread: int | None = None
    warp: int | None = None
    is_lane: bool = False
    unit: str = ""
    register: int | None = None
    value: int | None = None


def parse_places(
    text: str, matrices: Iterable[str], example: str, bare: bool = False, unit: str = ""
) -> list[SoughtPlace]:
    """Parse one place, or two to compare (`lane 20 vs lane 21`).

    matrices: the names that the page has, in lower case; bare: whether they name one matrix, so that an element needs
    no name; example: what the hint of a refusal offers; unit: what a holder is called beside lane and thread (`bank`).
    LayoutError `bad_find` for any other text.
    """
    parts = split_places(text)
    ordered = sorted({name.lower() for name in matrices}, key=len, reverse=True)
    names = [re.sub(r"(\d+)$", r"\\s*\1", name) for name in ordered]
    if not parts or len(parts) > MOST_TOGETHER:
        why = "names nothing" if not parts else f"names {len(parts)} places; a page compares two"
        raise LayoutError("bad_find", f"‘{shorten_value(text, 60)}’ {why}.", f"Try {example}.", "find")
    return [_parse_place(part, names, example, bare or len(names) == 1, unit) for part in parts]


def split_places(text: str) -> list[str]:
    """Split a text into the places that it joins: `lane 20 vs lane 21`, `A[5][9] and A[5][10]`."""
    return [part for part in _JOIN.split(text.strip()) if part]


def _parse_place(text: str, names: list[str], example: str, bare: bool, unit: str) -> SoughtPlace:
    holder = _THREAD.replace("{more}", f"|{unit}" if unit else "")
    matrix = rf"(?:(?P<matrix>{'|'.join(names)})\s*)"
    either = matrix + "?" * bare
    forms = (
        rf"{either}(?P<open>[\[(])?\s*(?P<row>\d{{1,9}})(?:\s*\]\s*\[\s*|\s*[,;]\s*|\s+)"
        rf"(?P<col>\d{{1,9}})\s*(?(open)[\])])",
        rf"{matrix}(?:(?<=\s)|(?P<square>\[)|(?P<round>\())\s*(?P<index>\d{{1,9}})\s*(?(square)\])(?(round)\))",
        holder,
        rf"{matrix}?r(?:egister)?\s*(?P<register>\d{{1,9}}){_OF}{holder}",
        rf"{holder}{_OF}{matrix}?r(?:egister)?\s*(?P<register>\d{{1,9}})",
        rf"{matrix}(?P<value>\d{{1,9}}){_OF}{holder}",
        rf"{matrix}?{holder}\s*:\s*(?P<value>\d{{1,9}})",
    )
    for form in forms:
        if found := re.fullmatch(form, text.strip(), re.IGNORECASE):
            return _read_groups(found)
    hint = f"Try {example}."
    if re.fullmatch(rf"{matrix}\d+", text.strip(), re.IGNORECASE):
        hint = f"A value needs its lane, as in {text.strip()} of lane 20; an element is {text.strip()[:1]}[5][9]."
    raise LayoutError("bad_find", f"‘{shorten_value(text, 60)}’ is not an element, a lane or a register.", hint, "find")


def _read_groups(found: re.Match[str]) -> SoughtPlace:
    said = {name: text for name, text in found.groupdict().items() if text is not None}
    numbers = {name: int(said[name]) for name in ("index", "thread", "warp", "register", "value") if name in said}
    return SoughtPlace(
        matrix=re.sub(r"\s", "", said.get("matrix", "")).lower(),
        coords=(int(said["row"]), int(said["col"])) if "row" in said else None,
        is_lane=said.get("unit", "").lower() in ("lane", "l"),
        unit="" if (unit := said.get("unit", "").lower()) in ("lane", "thread", "l", "t") else unit,
        **numbers,
    )


def check_element(place: SoughtPlace, rows: int, cols: int, title: str) -> tuple[int, int]:
    """Return row and column of an element; LayoutError `bad_find` names the legal range."""
    if place.coords is None:
        assert place.index is not None
        if place.index >= rows * cols:
            raise LayoutError(
                "bad_find",
                f"{title} has {rows * cols} elements, {title}[0] to {title}[{rows * cols - 1}].",
                "They are counted row by row.",
                "find",
            )
        return divmod(place.index, cols)
    row, col = place.coords
    if row >= rows or col >= cols:
        raise LayoutError(
            "bad_find", f"{title} is {rows} × {cols}: rows 0–{rows - 1}, columns 0–{cols - 1}.", "", "find"
        )
    return row, col
