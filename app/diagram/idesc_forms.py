"""Every form of the picture of an instruction descriptor: its 32 bits beside the product, as on its page."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanescope.app.diagram.forms import Picture, check_picture_options, render_svg
from lanescope.app.diagram.options import DRAWN
from lanescope.app.idesc.draw import draw_idesc
from lanescope.app.idesc.facts import DecodeQuestion, build_idesc
from lanescope.app.idesc.feature import format_idesc
from lanescope.app.idesc.forms import format_title
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.target import parse_optional_target
from lanescope.app.share.draw import draw_alone
from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.errors import LayoutError
from lanescope.render.tables import format_titled

_NUMBER = re.compile(r"\s*0[xb][0-9a-f'_]+[ul]*\s*", re.I)


def is_word(text: str) -> bool:
    """Return whether a text is a number, as the name of an instruction never is."""
    return bool(_NUMBER.fullmatch(text))


def parse_kind_of_word(text: str, kind: str, target: str = "") -> IdescWord:
    """Parse a word under a kind on a target; LayoutError without a kind, which the word does not contain."""
    if not kind:
        raise LayoutError(
            "unknown_kind",
            f"'{text.strip()[:40]}' is a number, and --kind is missing.",
            f"--kind {idesc.NAMES[0]} for an instruction descriptor of kind::{idesc.NAMES[0]};"
            f" kinds: {', '.join(idesc.NAMES)}.",
            "kind",
        )
    return IdescWord(idesc.parse_idesc_word(text), idesc.get_kind(kind), parse_optional_target(target, "target"))


def render_idesc(form: str, word: IdescWord, query: Mapping[str, str]) -> Picture:
    """Render the 32 bits of an instruction descriptor with their fields, and the product that they describe."""
    check_picture_options(form, query, DRAWN)
    if form == "json":
        return encode_json(build_idesc(word))
    answer = build_idesc(word)
    rows = [
        (f.title, f"{f.high}:{f.low}" if f.high > f.low else str(f.low), f"{f.encoded:#x}", f.says)
        for f in answer.fields
    ]
    if form == "txt":
        question = DecodeQuestion(kind=word.kind, value=word.word)
        return "\n".join(format_idesc(question, answer)) + "\n"
    title = query.get("title") or f"{word}, kind::{word.kind.name}: {format_title(word)}"
    if form in ("md", "csv"):
        return format_titled(form, title, ("field", "bits", "encoded", "value"), rows)
    return render_svg(form, draw_alone(draw_idesc(word), query.get("theme") or "light", title), query)
