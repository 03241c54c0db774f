"""Resources for agents: cards of instructions, pages of the guide, and the evidence, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from lanescope.app.guide import page_markdown
from lanescope.app.guide.markdown import format_code_block
from lanescope.app.hardware.evidence import METHODS, summarize
from lanescope.app.instruction import facts
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.names import lookup
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.targets import format_targets
from lanescope.render.tables import format_table

MARKDOWN = "text/markdown"
SCHEME = "lanescope://"
MOST_COMPLETED = 50


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource, or a template of resources, as clients list it."""

    uri: str
    name: str
    title: str
    about: str


GUIDE, CARD, EVIDENCE = f"{SCHEME}guide/", f"{SCHEME}instruction/", f"{SCHEME}evidence"
TEMPLATES = (
    Listed(
        f"{CARD}{{ptx}}",
        "instruction",
        "Card of an instruction",
        "What an instruction is: shape, types, targets, and the map of each operand with formulas, CuTe and evidence.",
    ),
    Listed(
        f"{GUIDE}{{slug}}", "guide", "Page of the guide", "A page of the guide; lanescope://guide/index lists them."
    ),
)


def list_resources() -> list[Listed]:
    """List the evidence, the index and every page of the guide."""
    pages = [(slug, *page_markdown.describe_page(slug)) for slug in page_markdown.list_markdown_slugs()]
    return [
        Listed(EVIDENCE, "evidence", "Evidence", "What was executed on which device, and how much of it agreed."),
        Listed(f"{GUIDE}index", "index", "Pages of the guide", "Every page of the guide with a line."),
        *(Listed(f"{GUIDE}{slug}", slug, title, page_markdown.shorten_lead(lead)) for slug, title, lead in pages),
    ]


def read_resource(uri: str) -> str:
    """Read a resource as Markdown. LayoutError for one that does not exist."""
    for start, read in _READERS.items():
        if uri.startswith(start):
            return read(unquote(uri.removeprefix(start)))
    hint = f"There are {GUIDE}index, {CARD}PTX and {EVIDENCE}."
    raise LayoutError("not_found", f"There is no resource '{shorten_value(uri, 80)}'.", hint, "uri")


def complete(template: str, argument: str, text: str) -> list[str]:
    """List the completions of a template's variable."""
    text = text.strip().lower()
    if (template, argument) == (TEMPLATES[0].uri, "ptx"):
        short = (instruction.ptx.replace(".sync.aligned", "") for instruction in catalog.instructions())
        return [
            quote(ptx, safe=":") for ptx in dict.fromkeys(short) if ptx.startswith(text.replace(".sync.aligned", ""))
        ]
    if (template, argument) == (TEMPLATES[1].uri, "slug"):
        return [slug for slug in page_markdown.list_markdown_slugs() if slug.startswith(text)]
    return []


def _read_page(slug: str) -> str:
    return page_markdown.render_llms() if slug == "index" else page_markdown.render_page_markdown(slug)


def _read_card(text: str) -> str:
    """Return the card of an instruction."""
    form = lookup.parse_instruction(text, "uri")
    answer = facts.build_detail(form)
    rows = (
        ("shape", " × ".join(str(size) for size in (answer.shape.m, answer.shape.n, answer.shape.k) if size)),
        ("types", ", ".join(f"{name} {kind}" for name, kind in form.types.items())),
        ("targets", f"{format_targets(answer.targets)}; PTX {answer.ptx_version}"),
        ("modifiers", ", ".join(answer.modifiers)),
        ("convergence", answer.convergence),
        ("source", answer.source),
        *((name, place) for name, place in answer.operands_elsewhere.items()),
    )
    parts = [f"# {name_form(form).text}", format_code_block(form.ptx)]
    parts += [format_table(("", ""), [row for row in rows if row[1]]), *filter(None, (answer.note, answer.deprecated))]
    for operand in answer.operands:
        parts += _list_operand(operand)
    return "\n\n".join(parts) + "\n"


def _list_operand(operand: facts.Operand) -> Iterator[str]:
    yield f"## {operand.name.upper()}: {operand.rows} × {operand.cols} {operand.element_type}"
    yield (
        f"{operand.values} values in {operand.registers} {operand.register_type} registers of each of"
        f" {operand.threads} threads; copies of each element: {operand.copies}."
    )
    rows = (
        ("pattern", f"`{operand.pattern}`"),
        ("CuTe (thread, value) → element, rows first", f"`{operand.cute}`"),
        ("source", operand.source),
        *(
            (evidence.kind, f"{evidence.text}; {evidence.by} {evidence.date}".strip(" ;"))
            for evidence in operand.evidence
        ),
    )
    yield format_table(("", ""), rows)
    yield format_code_block(f"{operand.formula.forward}\n\n{operand.formula.inverse}")


def _read_evidence(rest: str) -> str:
    """Return the evidence: what was executed on which device."""
    if rest:
        raise LayoutError("not_found", f"There is no resource '{EVIDENCE}{shorten_value(rest)}'.", EVIDENCE, "uri")
    assembler = catalog.get_assembler()
    parts = ["# Evidence", f"Targets and legal forms are those of {assembler['assembler']}."]
    for data in hardware_runs.load_evidence():
        meta = data["meta"]
        parts.append(f"## {meta['device']}, {meta['date']}")
        parts.append(f"Driver {meta.get('driver', '?')}, CUDA {meta.get('cuda', '?')}.")
        rows = [(row.what, f"{row.agreed:,} of {row.ran:,} agree") for row in summarize(data)]
        parts.append(format_table(("", "maps and models against the device"), rows))
    parts += ["## Methods", "\n".join(f"- {name}: {text}." for name, text in METHODS.items())]
    return "\n\n".join(parts) + "\n"


_READERS: dict[str, Callable[[str], str]] = {GUIDE: _read_page, CARD: _read_card, EVIDENCE: _read_evidence}
