"""The head of the page: what is shown, what stands behind it, its pictures, and the pages that go on from it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from lanescope.app.catalogue import topics
from lanescope.app.hardware import runs
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import words
from lanescope.app.instruction.issued import tmem_address
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.stored import stored
from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.blackwell import bound
from lanescope.blackwell.bound import Bound
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reading import listed
from lanescope.shared import chain

FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "tex": "TikZ"}


@fact
class Pill:
    """A short statement beside the title, with more on pointing."""

    kind: str
    text: str
    tip: str


@fact
class Head:
    """Title, types, tab's title and the statements behind them."""

    name: str
    types: str
    title: str
    pills: tuple[Pill, ...]


@fact
class Link:
    """Where to go on: the words and the address."""

    text: str
    href: str
    form: str = ""


def head(found: Instruction) -> Head:
    """The strongest evidence first, then the targets and the PTX version."""
    return Head(
        name=words.short_name(found),
        types=words.assignment(found),
        title=words.title(found),
        pills=(*_ran(found), _targets(found), _version(found)),
    )


def _ran(found: Instruction) -> tuple[Pill, ...]:
    known = about.evidence(found)
    ran = [run for run in catalog.runs(found) if run.agrees]
    out = []
    if ran:
        devices = ", ".join(dict.fromkeys(catalog.short(run.device) for run in ran))
        told = "; ".join(f"{item.text}: {item.by}" for item in known if item.kind == "ran")
        out.append(Pill(kind="ok", text=f"✓ ran on {devices}", tip=told))
    elif measured := [item for item in known if item.kind == "ran"]:
        out.append(Pill(kind="ok", text=f"✓ {measured[0].text}", tip=measured[0].by))
    if isinstance(found, Bound):
        return (*out, *_bound(found), *_pills(known, "not_run"))
    return (*out, *_pills(known, "differs", "agrees", "not_run"))


def _pills(known: tuple[about.Evidence, ...], *kinds: str) -> list[Pill]:
    return [Pill(kind=item.kind, text=item.text, tip=item.by) for item in known if item.kind in kinds]


def _bound(found: Bound) -> Iterator[Pill]:
    """How many maps of CUTLASS equal those of the operands, and which operands are inferred."""
    told = bound.told(found)
    yield Pill(kind="", text="documented", tip=str(found.family.source))
    if maps := sum(found.maps.values()):
        tip = "; ".join(one.text for one in told if not one.inferred)
        yield Pill(kind="", text=f"agrees with CUTLASS ({maps} maps)", tip=tip)
    if names := [one.operand for one in told if one.inferred]:
        tip = "; ".join(one.text for one in told if one.inferred)
        called = listed([name.upper() if len(name) == 1 else name for name in names])
        yield Pill(kind="not_run", text=f"{called} inferred", tip=tip)


def _targets(found: Instruction) -> Pill:
    targets = catalog.assembled(found).targets
    later = len(targets) > 1 and targets == catalog.TARGETS[-len(targets) :]
    text = f"{targets[0]} and later" if later else " ".join(targets)
    return Pill(kind="", text=text, tip=f"Assembles for {' '.join(targets)} ({catalog.assembler()['assembler']})")


def _version(found: Instruction) -> Pill:
    return Pill(kind="", text=f"PTX {catalog.assembled(found).ptx_version}", tip="The first PTX version that has it")


def pictures(found: Instruction, chosen: PageState) -> list[Link]:
    """The page's pictures, and the figure page, with this view's colour, label and lanes."""
    own = PageState()  # what a picture shows where its address says nothing
    query = chosen.query(own, pin="", view="")
    tail = f"?{query}" if query else ""
    out = [Link(text=text, href=links.path_of(found, None, form) + tail, form=form) for form, text in FORMS.items()]
    more = {"ptx": found.ptx, **{name: getattr(chosen, name) for name in ("colour", "label", "lanes", "pin")}}
    return [*out, Link(text="More options …", href=links.diagram({name: v for name, v in more.items() if v}))]


def following(found: Instruction, chosen: PageState, figure: Link) -> list[Link]:
    """Where the work goes on from here, each with what this page knows."""
    return [
        *_loads(found),
        *_tensor_links(found),
        *_descriptor_links(found, chosen),
        *_product_links(found, chosen),
        Link(text="Figure of this view", href=figure.href),
        *(Link(text=f"Guide: {topic.title}", href=topic.page) for topic in topics.of(found)),
        Link(text="This line, word by word", href=f"/guide/read-ptx?ptx={quote(found.ptx)}"),
    ]


def _loads(found: Instruction) -> Iterator[Link]:
    """The ldmatrix of each multiplicand of a warp's mma."""
    family = found.family
    if not family.multiplies or not family.specified or family.by_descriptor:
        return
    for name in "ab":
        if chain.candidates(found.operands[name]):
            href = links.chain({"mma": found.ptx, "operand": name})
            yield Link(text=f"Load {name.upper()} with ldmatrix", href=href)


def _tensor_links(found: Instruction) -> Iterator[Link]:
    """The pages of a tcgen05.mma with its instruction descriptor."""
    if isinstance(found, Bound):
        yield Link(text="Instruction descriptor", href=f"/idesc/{found.word}?kind={found.mma.kind.name}")
        yield Link(text="In tensor memory", href=tmem_address(found))
        yield Link(text="A whole tile: TiledMMA", href=links.tile_of_atom(found.ptx, str(found.word)))


def _descriptor_links(found: Instruction, chosen: PageState) -> Iterator[Link]:
    """The descriptors of multiplicands in shared memory, and B's tile."""
    if found.family.by_descriptor:
        tiles = {name: stored(found, name, chosen.major(name)) for name in "ba"}
        for name, tile in tiles.items():
            yield Link(text=f"{name.upper()}'s descriptor", href=tile.href)
        yield Link(text="B's tile", href=tiles["b"].tile)


def _product_links(found: Instruction, chosen: PageState) -> Iterator[Link]:
    """What follows a product, and its steps; tensor memory for what only moves there."""
    family = found.family
    if family.multiplies and not family.tensor:
        yield Link(text="D as the next A", href=links.reuse(found, found))
        if family.specified and not any(op.sparsity for op in found.operands.values()):
            yield Link(text="Several warps: a TiledMMA", href=links.tiled_mma(found))
    if runs.multiplies(found):
        pin = chosen.pinned()
        element = {"row": pin[1], "col": pin[2]} if pin and pin[0] == "d" else {}
        yield Link(text="Step through the product", href=links.steps(found, element))
    if family.tensor and not family.multiplies:
        yield Link(text="Where it reaches in tensor memory", href=f"/tmem?access={quote(found.ptx)}")
