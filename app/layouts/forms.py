"""The forms of the pages of layouts: the layout as in the API, and what the page draws of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanescope.app.kit.question import declare_question, fields_of, labels_of, number_field, raw_field, text_field
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.layouts.facts import TvBody
from lanescope.app.layouts.triton_facts import TritonBody
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError


@declare_question
class TvForm(TvBody):
    """A thread-value layout, and what is drawn of it."""

    element_bits: int = number_field(16, "Element bits", "Bits of one element.", least=1, most=128, size=4)
    slice: str = raw_field(
        "Slice", "Coordinates of the layout whose elements are kept; _ for all.", size=8, placeholder="(5,_)"
    )
    stored: str = text_field(
        "",
        "In shared memory",
        "The tile's layout in shared memory, for the banks.",
        check=parse_cute_layout,
        size=22,
        placeholder="row-major",
    )
    to: str = text_field("", "Compare with", "Another layout of the same tile.", check=parse_cute_layout, wide=True)
    axes: str = raw_field("Axes down, across", "The two axes that are drawn, from 0.")
    at: str = raw_field("Index of the others", "The indices of the axes that are not drawn.")


@declare_question
class TritonForm(TritonBody):
    """A layout of Triton or Gluon, and what is drawn of it."""

    to: str = raw_field("Convert to", "Another layout of the tensor.", wide=True, rows=2)
    axes: str = raw_field("Axes down, across", "The two axes that are drawn, from 0.")
    at: str = raw_field("Index of the others", "The indices of the axes that are not drawn.")


TV_FIELDS = fields_of(TvForm)
TRITON_FIELDS = fields_of(TritonForm)
TV_LABELS = labels_of(TvForm)
TRITON_LABELS = labels_of(TritonForm)


def build_form(
    question: type, fields: Mapping[str, str], rank: int, hidden: Sequence[int], error: LayoutError | None
) -> dict[str, Control]:
    """Return the controls of a page.

    The axes show what is drawn where they are left out: the last two, and 0 of each other one. hidden: the axes that
    are not drawn.
    """
    usual = {"axes": f"{rank - 2},{rank - 1}", "at": ",".join("0" * len(hidden))} if rank > 2 else {}
    form = form_of(question, {**fields, **{n: fields[n] or text for n, text in usual.items()}}, error=error)
    if hidden:
        form["at"] = replace(form["at"], label=f"Index of axis {', '.join(map(str, hidden))}")
    return form
