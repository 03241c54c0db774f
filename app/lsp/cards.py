"""The Markdown of a hover: title, facts, a small picture, and a link to the page with more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from lanescope.app.idesc.facts import decode_text_of_kind
from lanescope.app.kit.share import escape_markdown
from lanescope.app.lsp import pictures
from lanescope.app.memory.descriptors import build_decoded
from lanescope.app.read.meaning_links import link_meaning, link_topic
from lanescope.app.read.workbench import compress_text
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import FORMATS, get_format
from lanescope.ptx.targets import format_targets
from lanescope.reader.meaning import TextMeaning

MOST_CANDIDATES = 6
_NO_MATTER = ("storage.inner", "storage.base")  # which dimension a box's rows run along, and where it is put
LONGEST_LINK = 1 << 12


@dataclass(frozen=True, slots=True)
class CardStyle:
    """picture: text, svg or none; site: where links lead."""

    picture: str
    site: str


def write_card(meaning: TextMeaning, text: str, style: CardStyle, source: str = "") -> str:
    """Write the card of a meaning. text: the text that was read, for the link; source: the whole file, if the meaning
    depends on it.
    """
    write = _CARDS.get(meaning.kind, _write_plain)
    lines = write(meaning, style)
    address = link_topic(dict(meaning.facts)) if meaning.kind == "topic" else link_meaning(meaning, text)
    if source and address.startswith("/read"):
        address = f"/read?z={compress_text(source)}"
    link = f"\n\n[Open in Lanescope]({style.site}{address})" if len(address) <= LONGEST_LINK else ""
    return "\n\n".join(filter(None, lines)) + link


def write_word(word: int, style: CardStyle) -> str:
    """Write a 64-bit word in every format of descriptors."""
    return "\n\n---\n\n".join(
        "\n\n".join(filter(None, _write_fields(Descriptor(word, form), style)))
        + f"\n\n[Open in Lanescope]({style.site}/descriptor/{form.name}/{word:#018x})"
        for form in FORMATS
    )


def _format_head(title: str) -> str:
    return f"**{escape_markdown(title)}**"


def _format_fence(lines: str) -> str:
    return f"```text\n{lines}\n```" if lines else ""


def _list_notices(meaning: TextMeaning) -> list[str]:
    return [escape_markdown(notice) for notice in meaning.notices]


# kinds ----------------------------------------------------------------------------------------------------------------


def _write_plain(meaning: TextMeaning, style: CardStyle) -> list[str]:
    caption, lines = pictures.format_meaning(meaning.kind, meaning.facts) if style.picture != "none" else ("", "")
    picture = [escape_markdown(caption), _format_fence(lines)] if lines else []
    if style.picture == "svg" and (svg := pictures.draw_meaning_svg(meaning.kind, meaning.facts)):
        picture = [pictures.embed_svg(svg, "layout")]
    candidates = (
        [f"Candidates: {', '.join(map(str, meaning.facts['candidates'][:3]))}"]
        if meaning.facts.get("candidates")
        else []
    )
    left = [name for name in meaning.undetermined if name not in _NO_MATTER]
    open_ = [f"Left open: {escape_markdown(', '.join(left))}."] if left else []
    return [_format_head(meaning.title), *candidates, *_list_notices(meaning), *open_, *picture]


def _write_map(meaning: TextMeaning, style: CardStyle) -> list[str]:
    """Write a tensor map, with the bytes that a copy of its box transfers."""
    head, *rest = _write_plain(meaning, style)
    box, bits = meaning.facts["box"], meaning.facts["element_bits"]
    known = box and bits and None not in box
    return [head, f"{bits}-bit elements; a box has {prod(box) * bits // 8:,} bytes." if known else "", *rest]


def _write_instruction(meaning: TextMeaning, style: CardStyle) -> list[str]:
    facts = meaning.facts
    if not facts["ptx"]:
        names = facts["candidates"][:MOST_CANDIDATES]
        more = len(facts["candidates"]) - len(names)
        lines = "\n".join([*names, *([f"… and {more} more"] if more > 0 else [])])
        return [_format_head(meaning.title), _format_fence(lines), *_list_notices(meaning)]
    instruction = catalog.find(facts["ptx"])
    return [
        f"**`{instruction.ptx}`**",
        _describe_instruction(instruction),
        *_list_notices(meaning),
        *_describe_operands(instruction, facts.get("operand"), style),
    ]


def _describe_instruction(instruction: Instruction) -> str:
    support = catalog.get_target_support(instruction)
    parts = [instruction.family.opcode.does]
    if support.targets:
        parts.append(f"assembles for {format_targets(support.targets)}")
    return f"{escape_markdown('; '.join(parts))}."


def _describe_operands(instruction: Instruction, name: str | None, style: CardStyle) -> list[str]:
    """Describe the operands in registers, and draw one of them: the named one, otherwise the first."""
    operands = list(instruction.operands.values())
    if not operands:
        return []
    lines = [
        f"{op.name.upper():4} {'×'.join(map(str, (op.row_count, op.col_count))):9} {op.element.name:6}"
        f" {op.values} values a {op.scope.thread}"
        for op in operands
    ]
    usual = instruction.operands.get("d") if instruction.family.by_descriptor else None  # A may come by a descriptor
    shown = instruction.operands.get(name or "") or usual or operands[0]
    if style.picture == "none":
        return [_format_fence("\n".join(lines))]
    if style.picture == "svg":
        title = f"{shown.name.upper()} of {instruction.ptx}"
        return [_format_fence("\n".join(lines)), pictures.embed_svg(pictures.draw_operand(shown, title), title)]
    cut = (
        "" if shown.row_count <= pictures.ROWS and shown.col_count <= pictures.COLS else ", its first rows and columns"
    )
    return [
        _format_fence("\n".join(lines)),
        f"{shown.name.upper()}{cut}",
        _format_fence(pictures.format_operand(shown)),
    ]


def _write_descriptor(meaning: TextMeaning, style: CardStyle) -> list[str]:
    descriptor = Descriptor(int(meaning.facts["word"], 16), get_format(meaning.facts.get("format", "wgmma")))
    return [*_write_fields(descriptor, style), *_list_notices(meaning)]


def _write_fields(descriptor: Descriptor, style: CardStyle) -> list[str]:
    decoded = build_decoded(descriptor)
    lines = [
        f"{field.high:2}–{field.low:<2}  {field.name:14} {field.encoded:#7x}  "
        + str(decoded.swizzle if field.name == "swizzle" else f"{field.amount}{' B' if field.unit > 1 else ''}")
        for field in decoded.fields
    ]
    title = f"{descriptor.format.name} matrix descriptor {decoded.descriptor}"
    picture = [pictures.embed_svg(pictures.draw_bits(descriptor), title)] if style.picture == "svg" else []
    return [
        _format_head(title),
        _format_fence("\n".join(lines)),
        *(escape_markdown(warning.message) for warning in decoded.warnings),
        *picture,
    ]


def _write_builder(meaning: TextMeaning, style: CardStyle) -> list[str]:
    """Write the fields of a descriptor that code builds; unknown fields as expressions."""
    facts, free = meaning.facts, meaning.facts.get("free", {})
    start = facts["start"]
    rows = [("start", f"{start:#x}" if isinstance(start, int) else str(start))]
    for label, name in (
        ("LBO", "lbo_bytes"),
        ("SBO", "sbo_bytes"),
        ("base offset", "base_offset"),
        ("swizzle", "swizzle"),
    ):
        value = facts["fields"][name]
        unit = " B" if name.endswith("_bytes") else ""
        rows.append((label, f"{value}{unit}" if value is not None else f"? ({free.get(name, 'open')})"))
    lines = "\n".join(f"{label:12} {value}" for label, value in rows)
    word = [f"{facts['format']} matrix descriptor {facts['word'] or ''}".strip()]
    picture = []
    if style.picture == "svg" and facts["word"]:
        descriptor = Descriptor(int(facts["word"], 16), get_format(facts["format"]))
        picture = [pictures.embed_svg(pictures.draw_bits(descriptor), word[0])]
    return [_format_head(word[0]), _format_fence(lines), *_list_notices(meaning), *picture]


def _write_topic(meaning: TextMeaning, style: CardStyle) -> list[str]:
    facts = meaning.facts
    if "word" not in facts:
        return [_format_head(meaning.title), *_list_notices(meaning)]
    try:
        answer = decode_text_of_kind(facts["word"], facts["kind"])
    except LayoutError:
        return [_format_head(meaning.title), *_list_notices(meaning)]
    lines = [f"{f.high:2}–{f.low:<2}  {f.title:18} {f.encoded:#5x}  {f.says}" for f in answer.fields]
    return [_format_head(meaning.title), _format_fence("\n".join(lines)), *_list_notices(meaning)]


_CARDS: Mapping[str, Callable[[TextMeaning, CardStyle], list[str]]] = {
    "instruction": _write_instruction,
    "tensor_map": _write_map,
    "descriptor": _write_descriptor,
    "builder": _write_builder,
    "topic": _write_topic,
}
