"""The head of the page: what is shown, what stands behind it, its pictures, and the pages that go on from it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from lanescope.app.catalogue import topics
from lanescope.app.hardware import runs
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import wording
from lanescope.app.instruction.shared_operands import build_shared_operand
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.tcgen05 import link_tmem
from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.blackwell import bound
from lanescope.blackwell.bound import BoundMma
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.shared import chain

FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "tex": "TikZ"}


@fact
class StatusPill:
    """A short statement beside the title, with more on pointing."""

    kind: str
    text: str
    tip: str


@fact
class PageHead:
    """Title, types, tab's title and the statements behind them."""

    name: str
    types: str
    title: str
    pills: tuple[StatusPill, ...]


@fact
class PageLink:
    """Where to go on: the words and the address."""

    text: str
    href: str
    form: str = ""


def build_head(found: Instruction) -> PageHead:
    """The strongest evidence first, then the targets and the PTX version."""
    return PageHead(
        name=wording.format_short_name(found),
        types=wording.format_assignment(found),
        title=wording.format_title(found),
        pills=(*_build_execution_pills(found), _build_targets_pill(found), _build_version_pill(found)),
    )


def _build_execution_pills(found: Instruction) -> tuple[StatusPill, ...]:
    known = about.list_evidence(found)
    ran = [run for run in catalog.list_hardware_runs(found) if run.agrees]
    out = []
    if ran:
        devices = ", ".join(dict.fromkeys(catalog.shorten_device_name(run.device) for run in ran))
        told = "; ".join(f"{item.text}: {item.by}" for item in known if item.kind == "ran")
        out.append(StatusPill(kind="ok", text=f"✓ ran on {devices}", tip=told))
    elif measured := [item for item in known if item.kind == "ran"]:
        out.append(StatusPill(kind="ok", text=f"✓ {measured[0].text}", tip=measured[0].by))
    if isinstance(found, BoundMma):
        return (*out, *_build_cutlass_pills(found), *_build_evidence_pills(known, "not_run"))
    return (*out, *_build_evidence_pills(known, "differs", "agrees", "not_run"))


def _build_evidence_pills(known: tuple[about.Evidence, ...], *kinds: str) -> list[StatusPill]:
    return [StatusPill(kind=item.kind, text=item.text, tip=item.by) for item in known if item.kind in kinds]


def _build_cutlass_pills(found: BoundMma) -> Iterator[StatusPill]:
    """How many maps of CUTLASS equal those of the operands, and which operands are inferred."""
    told = bound.list_evidence(found)
    yield StatusPill(kind="", text="documented", tip=str(found.family.source))
    if maps := sum(found.maps.values()):
        tip = "; ".join(one.text for one in told if not one.inferred)
        yield StatusPill(kind="", text=f"agrees with CUTLASS ({maps} maps)", tip=tip)
    if names := [one.operand for one in told if one.inferred]:
        tip = "; ".join(one.text for one in told if one.inferred)
        called = join_words([name.upper() if len(name) == 1 else name for name in names])
        yield StatusPill(kind="not_run", text=f"{called} inferred", tip=tip)


def _build_targets_pill(found: Instruction) -> StatusPill:
    targets = catalog.get_target_support(found).targets
    later = len(targets) > 1 and targets == catalog.TARGETS[-len(targets) :]
    text = f"{targets[0]} and later" if later else " ".join(targets)
    return StatusPill(
        kind="", text=text, tip=f"Assembles for {' '.join(targets)} ({catalog.get_assembler()['assembler']})"
    )


def _build_version_pill(found: Instruction) -> StatusPill:
    return StatusPill(
        kind="", text=f"PTX {catalog.get_target_support(found).ptx_version}", tip="The first PTX version that has it"
    )


def list_pictures(found: Instruction, chosen: PageState) -> list[PageLink]:
    """The page's pictures, and the figure page, with this view's colour, label and lanes."""
    own = PageState()  # what a picture shows where its address says nothing
    query = chosen.format_query(own, pin="", view="")
    tail = f"?{query}" if query else ""
    out = [
        PageLink(text=text, href=links.link_instruction(found, None, form) + tail, form=form)
        for form, text in FORMS.items()
    ]
    more = {"ptx": found.ptx, **{name: getattr(chosen, name) for name in ("colour", "label", "lanes", "pin")}}
    return [*out, PageLink(text="More options …", href=links.link_diagram({name: v for name, v in more.items() if v}))]


def list_next_pages(found: Instruction, chosen: PageState, figure: PageLink) -> list[PageLink]:
    """Where the work goes on from here, each with what this page knows."""
    return [
        *_loads(found),
        *_tensor_links(found),
        *_descriptor_links(found, chosen),
        *_product_links(found, chosen),
        PageLink(text="Figure of this view", href=figure.href),
        *(PageLink(text=f"Guide: {topic.title}", href=topic.page) for topic in topics.find_instruction_topics(found)),
        PageLink(text="This line, word by word", href=f"/guide/read-ptx?ptx={quote(found.ptx)}"),
    ]


def _loads(found: Instruction) -> Iterator[PageLink]:
    """The ldmatrix of each multiplicand of a warp's mma."""
    family = found.family
    if not family.multiplies or not family.specified or family.by_descriptor:
        return
    for name in "ab":
        if chain.list_candidates(found.operands[name]):
            href = links.link_chain({"mma": found.ptx, "operand": name})
            yield PageLink(text=f"Load {name.upper()} with ldmatrix", href=href)


def _tensor_links(found: Instruction) -> Iterator[PageLink]:
    """The pages of a tcgen05.mma with its instruction descriptor."""
    if isinstance(found, BoundMma):
        yield PageLink(text="Instruction descriptor", href=f"/idesc/{found.word}?kind={found.mma.kind.name}")
        yield PageLink(text="In tensor memory", href=link_tmem(found))
        yield PageLink(text="A whole tile: TiledMMA", href=links.link_atom_tile(found.ptx, str(found.word)))


def _descriptor_links(found: Instruction, chosen: PageState) -> Iterator[PageLink]:
    """The descriptors of multiplicands in shared memory, and B's tile."""
    if found.family.by_descriptor:
        tiles = {name: build_shared_operand(found, name, chosen.get_major(name)) for name in "ba"}
        for name, tile in tiles.items():
            yield PageLink(text=f"{name.upper()}'s descriptor", href=tile.href)
        yield PageLink(text="B's tile", href=tiles["b"].tile)


def _product_links(found: Instruction, chosen: PageState) -> Iterator[PageLink]:
    """What follows a product, and its steps; tensor memory for what only moves there."""
    family = found.family
    if family.multiplies and not family.tensor:
        yield PageLink(text="D as the next A", href=links.link_reuse(found, found))
        if family.specified and not any(op.sparsity for op in found.operands.values()):
            yield PageLink(text="Several warps: a TiledMMA", href=links.link_tiled_mma(found))
    if runs.is_multiply(found):
        pin = chosen.pinned()
        element = {"row": pin[1], "col": pin[2]} if pin and pin[0] == "d" else {}
        yield PageLink(text="Step through the product", href=links.link_steps(found, element))
    if family.tensor and not family.multiplies:
        yield PageLink(text="Where it reaches in tensor memory", href=f"/tmem?access={quote(found.ptx)}")
