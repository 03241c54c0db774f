"""The pictures that a document's text requests: an operand, a tile, a descriptor, a layout, a TiledMMA …

The text is the input of other pages: `mma.m16n8k16 f16 a`, `128x64 bf16 K 128B`, a Triton layout, the address of a
page's picture. It is drawn as by the server and `lanescope diagram`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from lanescope import reader
from lanescope.app.diagram import forms as diagrams, verdicts
from lanescope.app.diagram.idesc_forms import parse_kind_of_word, render_idesc
from lanescope.app.guide import drawings
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.layouts.pictures import LOOKS, render_layout
from lanescope.app.memory.descriptors import parse_descriptor
from lanescope.app.memory.options import LOOK
from lanescope.app.share.draw import draw_alone
from lanescope.app.tiles import figure, tiled_copy_figure
from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.inputs import get_last_name, join_words, shorten_value
from lanescope.names import lookup
from lanescope.names.form_names import format_short_name, name_form
from lanescope.names.forms import FormMatches
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.table.descriptors import get_format
from lanescope.shared.tile_text import parse_tile_text

Query = Mapping[str, str]
Render = Callable[[str, Query], diagrams.Picture]
LONGEST = 1 << 14
_FRAGMENT = "colour label lanes warps cell title legend lang product pin pin2 idesc target formulas window".split()
_SHEET = [*LOOKS, "shape", "element_bits", "title", "window"]
_WINDOW = re.compile(r"\s*(\d+-\d+)\s*(?:,\s*(\d+-\d+)\s*)?")
_OPERAND = re.compile(r"[a-z_]{1,8}")
_WORD32 = re.compile(r"0x[0-9a-fA-F]{1,8}")
_TILE = re.compile(r"\s*\d+\s*[x×]\s*\d+\s")
_OPERATIONS = re.compile(r"\w+\s*\(|\s[o∘]\s|=")


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture before it is drawn: a function of format and query, and the query without the theme."""

    render: Render
    query: Query

    def draw_svg(self, theme: str) -> str:
        """Return the picture for a theme. LayoutError for an illegal option."""
        return str(self.render("svg", {**self.query, "theme": theme}))


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of picture: how it is drawn, the query of the text, and the options that a document may add."""

    render: Render
    query: Query
    options: tuple[str, ...]
    dims: str = ""  # of a window: "rows" of options of that name, or the letters of `view`


def read_figure(text: str, options: Query) -> Figure:
    """Return the picture for a text and its options. LayoutError with the nearest legal texts."""
    text = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    if not text or len(text) > LONGEST:
        raise LayoutError("bad_figure", "Nothing is named to be drawn." if not text else "The text is too long.", HINT)
    kind = _find_kind(text, options)
    unknown = [name for name in options if name not in kind.options]
    if unknown:
        raise LayoutError(
            "bad_option",
            f"No option '{shorten_value(unknown[0])}' of this picture.",
            f"Allowed: {', '.join(sorted(set(kind.options)))}.",
            unknown[0],
        )
    return Figure(kind.render, {**kind.query, **_convert_options(kind, options)})


HINT = (
    "Name an instruction and its operand, a tile (128x64 bf16 K 128B), a descriptor, a layout, or a picture's address."
)


def _find_kind(text: str, options: Query) -> _Kind:
    if text.startswith("/"):
        return _read_address(text)
    if _TILE.match(text):
        return _make_tile_kind(parse_tile_text(text))
    if _WORD32.fullmatch(text):
        return _make_idesc_kind(text, options.get("kind", ""))
    named = _find_instruction(text)
    return named or _recognise(text)


def _convert_options(kind: _Kind, options: Query) -> dict[str, str]:
    """Convert options to those of picture addresses: a window as rows and columns, or as a view."""
    query = {name: value for name, value in options.items() if name not in ("window", "formulas")}
    query |= {"legend": "1"} if "legend" in options else {}
    query |= {"caption": "1"} if "formulas" in options else {}
    if "window" not in options:
        return query
    text = options["window"]
    found = _WINDOW.fullmatch(text)
    if kind.dims == "rows":
        if not found:
            raise LayoutError("bad_option", f"window is '{shorten_value(text)}'.", "Rows, columns: 0-15,0-7.", "window")
        return query | {name: value for name, value in zip(("rows", "cols"), found.groups(), strict=True) if value}
    if found and kind.dims:
        spans = [span.split("-") for span in found.groups() if span]
        text = ",".join(f"{dim}:{a}-{int(b) + 1}" for dim, (a, b) in zip(kind.dims, spans, strict=False))
    return query | {"view": text}


# instructions ---------------------------------------------------------------------------------------------------------


def _find_instruction(text: str) -> _Kind | None:
    """Return the picture of an instruction, or of one operand, that a text names; None if it names none.

    A name of several forms is allowed if the operand is the same in all.
    """
    name, _, operand = text.rpartition(" ")
    if not _OPERAND.fullmatch(operand):
        name, operand = "", ""
    if name and (spelled := _find_spelled(name)):
        return _make_fragment_kind(spelled, operand)
    if spelled := _find_spelled(text):
        return _make_fragment_kind(spelled, "")
    found = _find_named(name, operand) if name else None
    return found or _find_named(text, "")


def _find_spelled(text: str) -> Instruction | None:
    """Return the instruction of a PTX text; None for any other text."""
    try:
        return catalog.find(text)
    except LayoutError:
        return None


def _find_named(name: str, operand: str) -> _Kind | None:
    """Return the picture of the forms that have a name's words and this operand; None if no form is meant."""
    matches = lookup.find_named(name) if name else None
    if matches is None or not matches.named:
        return None
    if matches.ignored or not matches.forms:
        if operand and (not matches.forms or operand not in matches.forms[0].operands):
            return None
        raise _refuse_names(matches)
    head = name.split()[0].lower()
    forms = [form for form in matches.forms if format_short_name(form) == head] or list(matches.forms)
    if not operand:
        return _make_fragment_kind(_require_one(name, forms), "")
    holding = [form for form in forms if operand in form.operands]
    return _make_fragment_kind(_choose_typed(name, holding, operand, matches), operand) if holding else None


def _refuse_names(matches: FormMatches) -> LayoutError:
    """Return the error for a name that has a word too many, or words that no form has together."""
    if matches.forms and len(matches.ignored) == 1 and _OPERAND.fullmatch(matches.ignored[0]):
        operands = ", ".join(matches.forms[0].operands)
        return LayoutError("unknown_operand", f"No operand '{matches.ignored[0]}'.", f"Allowed: {operands}.")
    return LayoutError("unknown_instruction", lookup.explain_refusal(matches), _list_names(matches.forms))


def _choose_typed(name: str, forms: list[Instruction], operand: str, matches: FormMatches) -> Instruction:
    """Return one of the forms whose operands look alike; those whose element type the name has come first."""
    words = [word.lower() for word in matches.words]
    typed = [form for form in forms if form.operand(operand).element.name in words] or forms
    if len({_compute_fingerprint(form.operand(operand)) for form in typed}) > 1:
        _require_one(name, typed)
    return typed[0]


def _compute_fingerprint(operand: Operand) -> tuple[str, str, int]:
    return operand.element.name, str(operand.pattern), operand.container_bits


def _require_one(name: str, forms: list[Instruction]) -> Instruction:
    if len(forms) > 1:
        raise LayoutError(
            "several_instructions",
            f"'{shorten_value(name)}' names {len(forms)} instructions.",
            _list_names(tuple(forms)),
        )
    return forms[0]


def _list_names(forms: tuple[Instruction, ...]) -> str:
    """Return the unambiguous names of the first few forms."""
    names = [name_form(form).text for form in forms[:4]]
    return f"Nearest: {'; '.join(names)}." if names else HINT


def _make_fragment_kind(instruction: Instruction, operand: str) -> _Kind:
    if operand:
        instruction.operand(operand)  # refused here, before the cache

    def render(form: str, query: Query) -> diagrams.Picture:
        query = _complete_pins(query, operand)
        bound = bind_descriptor(instruction, query)
        return diagrams.render_instruction(form, bound, bound.operand(operand) if operand else None, query)

    return _Kind(render, {}, tuple(_FRAGMENT), "rows")


def _complete_pins(query: Query, operand: str) -> Query:
    """Return a query whose pins name their matrix: 5,9 is a:5,9 in the picture of A."""
    pins = {name: f"{operand}:{query[name]}" for name in ("pin", "pin2") if operand and ":" not in query.get(name, ":")}
    return {**query, **pins}


# tiles, words and layouts ---------------------------------------------------------------------------------------------


def _make_tile_kind(spec: Mapping[str, Any]) -> _Kind:
    if spec["kind"] == "cute":
        return _make_cute_kind(spec["layout"])
    if spec.get("swizzle_by") == "tile":
        hint = "The picture of a tile XORs the address, as TMA does; leave swizzle_by out."
        raise LayoutError("bad_figure", "A tile that is swizzled from its own start is not drawn.", hint)
    fields = {
        name: str(value) for name, value in spec.items() if name not in ("kind", "swizzle_by") and value is not None
    }
    missing = [name for name in ("mn", "k", "element_bits", "major") if name not in fields]
    if missing:
        raise LayoutError("open_tile", f"The text leaves the tile's {missing[0]} open.", HINT)
    if "base32B" in fields.get("swizzle", "") or fields["element_bits"] == "4":
        fields["format"] = "tcgen05"

    def render(form: str, query: Query) -> diagrams.Picture:
        return diagrams.render_tile(form, _complete_pins(query, "tile"))

    return _Kind(render, fields, (*LOOK, "title", "pin", "pin2"))


def _make_idesc_kind(word: str, kind: str) -> _Kind:
    parsed = parse_kind_of_word(word, kind)
    return _Kind(
        lambda form, query: render_idesc(
            form, parsed, {name: value for name, value in query.items() if name != "kind"}
        ),
        {},
        ("kind", "title"),
    )


def _make_descriptor_kind(word: str, form_name: str) -> _Kind:
    descriptor = parse_descriptor(word, get_format(form_name))

    def render(form: str, query: Query) -> diagrams.Picture:
        draw = verdicts.render_query if verdicts.has_verdict_query(query) else diagrams.render_descriptor
        return draw(form, descriptor, query)

    return _Kind(render, {}, ())


def _make_cute_kind(expression: str) -> _Kind:
    return _make_layout_kind("cute", {"expression": expression}, ("title",))


def _make_layout_kind(name: str, layout_query: Query, options: tuple[str, ...]) -> _Kind:
    return _Kind(partial(render_layout, name), layout_query, options, "rc")


def _recognise(text: str) -> _Kind:
    """Return the picture of the most likely meaning of a text. LayoutError with the reader's error if it has none."""
    recognised = reader.recognise_text(text)
    for meaning in recognised.found:
        make = _MEANINGS.get(meaning.kind)
        kind = make(dict(meaning.facts)) if make else None
        if kind:
            return kind
    if not recognised.found and _OPERATIONS.search(text):
        kind = _make_cute_kind(text)
        try:
            kind.render("json", kind.query)
            return kind
        except LayoutError as error:
            if not recognised.refused:
                raise LayoutError(error.code, error.message, error.hint or HINT) from None
    if recognised.refused:
        raise recognised.refused[0]
    raise LayoutError("unknown_figure", f"'{shorten_value(text, 80)}' is nothing that can be drawn.", HINT)


def _draw_instruction(facts: dict[str, Any]) -> _Kind | None:
    fitting = [facts["ptx"]] if facts.get("ptx") else facts.get("candidates", [])
    if len(fitting) != 1:
        names = [name_form(catalog.find(ptx)).text for ptx in fitting[:4]]
        raise LayoutError(
            "several_instructions", "The text fits several instructions.", f"One of {join_words(names, 'or')}."
        )
    return _make_fragment_kind(catalog.find(fitting[0]), facts.get("operand") or "")


def _draw_layout(facts: dict[str, Any]) -> _Kind | None:
    stored = facts.get("storage") or {}
    if stored.get("kind") == "canonical":
        return _make_tile_kind(stored)
    if facts.get("tv"):
        tile = ",".join(map(str, facts["tv"]["tile"]))
        return _make_layout_kind("tv", {"cute": facts["cute"], "tile": tile}, tuple(_SHEET))
    if not facts.get("cute"):
        return None
    return _make_cute_kind(str(parse_layout(facts["cute"])))


def _draw_triton(facts: dict[str, Any]) -> _Kind | None:
    body = {name: _format_value(value) for name, value in facts["body"].items() if value is not None}
    return _make_layout_kind("triton", body, tuple(_SHEET))


def _draw_tiled(facts: dict[str, Any], render: Render, options: Mapping[str, str], dims: str) -> _Kind | None:
    body = {name: _format_value(value) for name, value in facts["body"].items() if value is not None}
    names = (*(name for name in options if name not in ("theme", "scale", "embed", "view")), "window")
    return _Kind(render, body, names, dims)


def _format_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_MEANINGS: dict[str, Callable[[dict[str, Any]], _Kind | None]] = {
    "instruction": _draw_instruction,
    "descriptor": lambda facts: _make_descriptor_kind(facts["word"], facts["format"]),
    "layout": _draw_layout,
    "triton": _draw_triton,
    "tiled_mma": lambda facts: _draw_tiled(facts, figure.render_tiled_mma, figure.OPTIONS, ""),
    "tiled_copy": lambda facts: _draw_tiled(
        facts, tiled_copy_figure.render_tiled_copy, tiled_copy_figure.OPTIONS, "rc"
    ),
}


# addresses ------------------------------------------------------------------------------------------------------------


def _read_address(text: str) -> _Kind:
    """Return the picture at an address of the server, with or without its .svg."""
    parts = urlsplit(text)
    path = unquote(parts.path).removesuffix(".svg").rstrip("/")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    picture = drawings.find_picture(path)
    if picture is not None and picture.render is not None:
        return _Kind(picture.render, query, ("title",))
    head, *rest = path.strip("/").split("/")
    if head == "i" and len(rest) in (1, 2):
        kind = _make_fragment_kind(catalog.find(rest[0]), rest[1] if len(rest) > 1 else "")
    elif head == "descriptor" and len(rest) == 2:
        kind = _make_descriptor_kind(rest[1], rest[0])
    elif head == "idesc" and len(rest) == 1:
        kind = _make_idesc_kind(rest[0], query.pop("kind", ""))
    elif picture is not None:
        return _Kind(_render_page_picture(path), query, ("title",))
    else:
        raise LayoutError("unknown_figure", f"No picture is at '{shorten_value(path, 80)}'.", drawings.HINT)
    return _Kind(kind.render, query, kind.options, kind.dims)


def _render_page_picture(path: str) -> Render:
    """Return a function that draws the picture of a page as a file in a theme."""

    def render(form: str, query: Query) -> diagrams.Picture:
        page_query = {name: value for name, value in query.items() if name not in ("theme", "title")}
        title = query.get("title", "")
        svg, page = drawings.draw_address(f"{path}?{urlencode(page_query)}", title, legend=False)
        only = svg[svg.index("<svg") : svg.index("</svg>") + len("</svg>")]  # a legend may follow
        if title:
            only = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", only, count=1, flags=re.S)
        return draw_alone(only, query.get("theme", "light"), title or f"The picture of {page}")

    return render


def format_refusal(error: LayoutError) -> str:
    """Format an error as one line, with the wrong option."""
    field = get_last_name(error.field)
    return f"{error}" + (f" (option {field})" if field and error.code == "bad_option" else "")
