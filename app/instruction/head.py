"""The head of the page: the instruction, its evidence, its pictures, and related pages."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from lanescope.app.catalogue import topics
from lanescope.app.idesc.forms import link_idesc
from lanescope.app.instruction import wording
from lanescope.app.instruction.evidence import Evidence, list_evidence
from lanescope.app.instruction.fed import find_fed_operand
from lanescope.app.instruction.shared_operands import build_shared_operand
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.tcgen05 import link_tmem
from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.blackwell import bound
from lanescope.blackwell.bound import BoundMma
from lanescope.inputs import join_words
from lanescope.names.form_names import FormName, name_form
from lanescope.product.move_plan import moves_rows
from lanescope.product.planning import is_plannable
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import format_targets
from lanescope.shared import banks, chain

FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "tex": "TikZ"}


@fact
class StatusPill:
    """A short statement beside the title, with more on pointing."""

    kind: str
    text: str
    tip: str


@fact
class PageHead:
    """The form's name, the tab's title and the pills behind them."""

    name: FormName
    title: str
    pills: tuple[StatusPill, ...]


@fact
class PageLink:
    """A link to a related page."""

    text: str
    href: str
    form: str = ""


def build_head(instruction: Instruction) -> PageHead:
    """Build the head: the strongest evidence first, then the targets and the PTX version."""
    return PageHead(
        name=name_form(instruction),
        title=wording.format_title(instruction),
        pills=(
            *_build_execution_pills(instruction),
            _build_targets_pill(instruction),
            _build_version_pill(instruction),
        ),
    )


def _build_execution_pills(instruction: Instruction) -> tuple[StatusPill, ...]:
    evidence = list_evidence(instruction)
    ran = [run for run in hardware_runs.list_hardware_runs(instruction) if run.agrees]
    pills = []
    if ran:
        devices = ", ".join(dict.fromkeys(hardware_runs.shorten_device_name(run.device) for run in ran))
        tip = "; ".join(f"{item.text}: {item.by}" for item in evidence if item.kind == "ran")
        pills.append(StatusPill(kind="ok", text=f"✓ ran on {devices}", tip=tip))
    elif measured := [item for item in evidence if item.kind == "ran"]:
        pills.append(StatusPill(kind="ok", text=f"✓ {measured[0].text}", tip=measured[0].by))
    if isinstance(instruction, BoundMma):
        return (*pills, *_build_cutlass_pills(instruction), *_build_evidence_pills(evidence, "not_run"))
    return (*pills, *_build_evidence_pills(evidence, "differs", "agrees", "not_run"))


def _build_evidence_pills(evidence: tuple[Evidence, ...], *kinds: str) -> list[StatusPill]:
    return [StatusPill(kind=item.kind, text=item.text, tip=item.by) for item in evidence if item.kind in kinds]


def _build_cutlass_pills(instruction: BoundMma) -> Iterator[StatusPill]:
    """Yield how many maps of CUTLASS equal those of the operands, and which operands are inferred."""
    evidence = bound.list_evidence(instruction)
    yield StatusPill(kind="", text="documented", tip=str(instruction.family.source))
    if maps := sum(instruction.maps.values()):
        tip = "; ".join(item.text for item in evidence if not item.inferred)
        yield StatusPill(kind="", text=f"agrees with CUTLASS ({maps} maps)", tip=tip)
    if names := [item.operand for item in evidence if item.inferred]:
        tip = "; ".join(item.text for item in evidence if item.inferred)
        names_text = join_words([name.upper() if len(name) == 1 else name for name in names])
        yield StatusPill(kind="not_run", text=f"{names_text} inferred", tip=tip)


def _build_targets_pill(instruction: Instruction) -> StatusPill:
    targets = catalog.get_target_support(instruction).targets
    tip = f"Assembles for {' '.join(targets)} ({catalog.get_assembler()['assembler']})"
    return StatusPill(kind="", text=format_targets(targets), tip=tip)


def _build_version_pill(instruction: Instruction) -> StatusPill:
    return StatusPill(
        kind="",
        text=f"PTX {catalog.get_target_support(instruction).ptx_version}",
        tip="The first PTX version that has it",
    )


def list_pictures(instruction: Instruction, page_state: PageState) -> list[PageLink]:
    """List the page's pictures, and the figure page, with this view's colour, label and lanes."""
    defaults = PageState()  # the defaults of a picture
    query = page_state.format_query(defaults, view="")
    tail = f"?{query}" if query else ""
    pictures = [
        PageLink(text=text, href=links.link_instruction(instruction, None, form) + tail, form=form)
        for form, text in FORMS.items()
    ]
    options = {
        "ptx": instruction.ptx,
        **{name: getattr(page_state, name) for name in ("colour", "label", "lanes", "pin", "pin2")},
    }
    return [
        *pictures,
        PageLink(text="More options …", href=links.link_diagram({name: v for name, v in options.items() if v})),
    ]


def list_next_pages(instruction: Instruction, page_state: PageState, figure: PageLink) -> list[PageLink]:
    """Return links to related pages, each with the state of this page."""
    return [
        *_list_load_links(instruction),
        *_list_supply_links(instruction, page_state),
        *_list_tensor_links(instruction),
        *_list_descriptor_links(instruction, page_state),
        *_list_product_links(instruction, page_state),
        PageLink(text="Figure of this view", href=figure.href),
        *(
            PageLink(text=f"Guide: {topic.title}", href=topic.page)
            for topic in topics.find_instruction_topics(instruction)
        ),
        PageLink(text="This line, word by word", href=f"/guide/read-ptx?ptx={quote(instruction.ptx)}"),
    ]


def _list_load_links(instruction: Instruction) -> Iterator[PageLink]:
    """Yield the ldmatrix of each multiplicand of a warp's mma."""
    family = instruction.family
    if not family.multiplies or not family.specified or family.by_descriptor:
        return
    for name in "ab":
        if chain.list_candidates(instruction.operands[name]):
            href = links.link_chain({"mma": instruction.ptx, "operand": name})
            yield PageLink(text=f"Load {name.upper()} with ldmatrix", href=href)


def _list_supply_links(instruction: Instruction, page_state: PageState) -> Iterator[PageLink]:
    """Yield the editor of a sparse A's metadata, and the scale factors of every byte-id and thread-id."""
    a = instruction.operands.get("a")
    if a is not None and a.sparsity:
        tail = f"?selector={page_state.selector}" if page_state.selector else ""
        yield PageLink(text="Edit A's metadata", href=f"/metadata/{instruction.ptx}{tail}")
    if instruction.scales:
        yield PageLink(text="Scale factors as a table", href="#registers")


def _list_move_links(instruction: Instruction) -> Iterator[PageLink]:
    """Yield the pages of a load or store of rows: its steps, the product that it serves, its chain, and banks."""
    yield PageLink(text="Step through it", href=links.link_steps(instruction, {}))
    if fed := find_fed_operand(instruction):
        name, letter = name_form(fed.mma).name, fed.operand.upper()
        chained = {"mma": fed.mma.ptx, "operand": fed.operand, "major": fed.major, "load": instruction.ptx}
        served = f"{letter} of {name}"
        text = f"From {served} to shared memory" if instruction.family.stores else f"From shared memory to {served}"
        yield PageLink(text=text, href=links.link_chain(chained))
        yield PageLink(text=served, href=links.link_instruction(fed.mma, fed.mma.operand(fed.operand)))
    access = f"{instruction.family.opcode.words[0]}.x{instruction.counts.get('x', 1)}"
    if access in banks.ACCESSES and instruction.shape == "m8n8":
        yield PageLink(text="Bank conflicts", href=links.link_banks({"access": access}))


def _list_tensor_links(instruction: Instruction) -> Iterator[PageLink]:
    """Yield the pages of a tcgen05.mma with its instruction descriptor."""
    if isinstance(instruction, BoundMma):
        yield PageLink(text="Instruction descriptor", href=link_idesc(instruction.word))
        yield PageLink(text="In tensor memory", href=link_tmem(instruction))
        yield PageLink(text="A whole tile: TiledMMA", href=links.link_atom_tile(instruction.ptx, str(instruction.word)))


def _list_descriptor_links(instruction: Instruction, page_state: PageState) -> Iterator[PageLink]:
    """Yield the descriptors of multiplicands in shared memory, and B's tile."""
    if instruction.family.by_descriptor:
        tiles = {name: build_shared_operand(instruction, name, page_state.get_major(name)) for name in "ba"}
        for name, tile in tiles.items():
            yield PageLink(text=f"{name.upper()}'s descriptor", href=tile.href)
        yield PageLink(text="B's tile", href=tiles["b"].tile)


def _list_product_links(instruction: Instruction, page_state: PageState) -> Iterator[PageLink]:
    """Yield the pages of a product: the next product, its steps, or those of a move; tensor memory for tcgen05
    moves.
    """
    family = instruction.family
    if family.multiplies and not family.tensor:
        yield PageLink(text="D as the next A", href=links.link_reuse(instruction, instruction))
        if family.specified and not any(op.sparsity for op in instruction.operands.values()):
            yield PageLink(text="Several warps: a TiledMMA", href=links.link_tiled_mma(instruction))
    if is_plannable(instruction):
        pin = page_state.pinned()
        element = {"row": pin[1], "col": pin[2]} if pin and pin[0] == "d" else {}
        yield PageLink(text="Step through the product", href=links.link_steps(instruction, element))
    if moves_rows(instruction):
        yield from _list_move_links(instruction)
    if family.tensor and not family.multiplies:
        yield PageLink(text="Where it reaches in tensor memory", href=f"/tmem?access={quote(instruction.ptx)}")
