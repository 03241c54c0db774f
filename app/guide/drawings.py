"""The picture at a page's address, in the page's colours: one table for the guide and for documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

from lanescope import find
from lanescope.app.banks import facts as bank_facts
from lanescope.app.banks.draw import draw_banks
from lanescope.app.chain.forms import draw_figure
from lanescope.app.delivery.feature import DELIVER
from lanescope.app.diagram import forms as pictures, verdicts
from lanescope.app.idesc.draw import draw_idesc
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.sheets import point_at_sheets
from lanescope.app.layouts import cute, triton, tv
from lanescope.app.layouts.pictures import render_layout
from lanescope.app.memory import descriptors, facts as memory
from lanescope.app.memory.tile_figure import LABELLED, draw_tile, parse_look
from lanescope.app.reuse.feature import REUSE
from lanescope.app.scales.feature import SCALE_FACTORS
from lanescope.app.tiles import chains, figure as whole_tiles, main_loop_figure, tiled_copy_figure
from lanescope.app.tmem.feature import PLACEMENT
from lanescope.app.tmem.find import make_sheet_page as make_tensor_sheets
from lanescope.app.tmem.placement import draw_placement
from lanescope.app.triton_dot.feature import TRITON_DOT
from lanescope.app.weights.feature import WEIGHTS
from lanescope.blackwell.idesc import IdescWord, get_kind, parse_idesc_word
from lanescope.errors import LayoutError
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.diagram import render_diagram
from lanescope.render.svg import render_svg

_OF_FIGURE = ("cell", "rows", "cols")  # options that a page of an instruction does not have


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """A picture that a page shows. rest: the path after its kind; query: its options; text: them as text."""

    address: str
    rest: str
    text: str
    query: dict[str, str]
    caption: str
    legend: bool


@dataclass(frozen=True, slots=True)
class PagePicture:
    """The drawing functions of a page's picture: inside a page, SVG with the page's address if that differs; as a file,
    a function of format and query, or None if the picture exists only inside a page.
    """

    draw: Callable[[FigureRequest], str | tuple[str, str]]
    render: Callable[[str, Mapping[str, str]], pictures.Picture] | None = None


HINT = (
    "Pictures: /i/…, /descriptor/…, /idesc/…, /smem, /tmem, /banks, /chain, /reuse, /weights, /deliver, /cute,"
    " /layouts/…, /tiles/…."
)


def find_picture(path: str) -> PagePicture | None:
    """Find the picture at a path; None if there is none."""
    return _find_picture(path)[0]


def _find_picture(path: str) -> tuple[PagePicture | None, str]:
    """Find the picture at a path, and the rest of the path."""
    kind, _, rest = path.strip("/").partition("/")
    return PICTURES.get(path.strip("/")) or (PICTURES.get(f"{kind}/") if rest else None), rest


def draw_address(address: str, caption: str, legend: bool = True) -> tuple[str, str]:
    """Draw a picture as SVG and return it with the address of its page; LayoutError for an address without a
    picture.
    """
    parts = urlsplit(address)
    picture, rest = _find_picture(parts.path)
    if picture is None:
        raise LayoutError("bad_figure", f"'{address}' draws nothing.", HINT, "figure")
    drawing = picture.draw(FigureRequest(address, rest, parts.query, dict(parse_qsl(parts.query)), caption, legend))
    return drawing if isinstance(drawing, tuple) else (drawing, address)


def _draw_instruction(request: FigureRequest) -> tuple[str, str]:
    name, slash, letter = request.rest.rpartition("/")
    instruction = find(name if slash else request.rest)
    operand = instruction.operand(letter) if slash else None
    style, page_state = pictures.parse_style(instruction, request.query)
    svg = render_diagram(
        pictures.make_window_figure("svg", instruction, operand, page_state.product, request.query),
        replace(style, palette=None, legend=request.legend),
        request.caption,
        pointed=request.legend,
    )
    shown = {name: value for name, value in request.query.items() if name not in _OF_FIGURE}
    return svg, link_instruction(instruction) + (f"?{urlencode(shown, safe=':,')}" if shown else "")


def _draw_tile(request: FigureRequest) -> str:
    tile, _ = memory.parse_tile(request.query)
    drawing = draw_tile(tile, parse_look(request.query))
    return render_svg(
        drawing.figure,
        title=request.caption,
        palette=None,
        extra=drawing.extra,
        labels_up_to=2 * LABELLED,
        pointed=True,
    )


def _draw_descriptor(request: FigureRequest) -> tuple[str, str]:
    name, _, word = request.rest.rpartition("/")
    parsed = descriptors.parse_descriptor(word, descriptors.find_format({"format": name}))
    svg = (
        verdicts.draw_inline(parsed, request.query)
        if verdicts.has_verdict_query(request.query)
        else render_descriptor_bits(parsed, None)
    )
    page_query = {option: value for option, value in request.query.items() if option != "rows"}
    return svg, urlsplit(request.address).path + (f"?{urlencode(page_query)}" if page_query else "")


def _draw_banks(request: FigureRequest) -> str:
    use, xor = bank_facts.parse_use(request.query)
    return draw_banks([use.compute_use_cost(xor)])


def _draw_tensor_memory(request: FigureRequest) -> str:
    question, placement = PLACEMENT.ask_query(PLACEMENT.fill_query(request.query))
    svg = draw_placement(question, placement)
    return point_at_sheets(svg, make_tensor_sheets(placement).sheets) if request.legend else svg


def _draw_instruction_descriptor(request: FigureRequest) -> str:
    return draw_idesc(IdescWord(parse_idesc_word(request.rest), get_kind(request.query.get("kind", "f16"))))


# a page's path, or its first part with / if more follows → its picture
PICTURES: dict[str, PagePicture] = {
    "i/": PagePicture(_draw_instruction),
    "smem": PagePicture(_draw_tile, pictures.render_tile),
    "descriptor/": PagePicture(_draw_descriptor),
    "tmem": PagePicture(_draw_tensor_memory),
    "idesc/": PagePicture(_draw_instruction_descriptor),
    "deliver": PagePicture(lambda request: DELIVER.draw_query(request.query)),
    "reuse": PagePicture(lambda request: REUSE.draw_query(request.query)),
    "weights": PagePicture(lambda request: WEIGHTS.draw_query(request.query)),
    "triton-dot": PagePicture(lambda request: TRITON_DOT.draw_query(request.query)),
    "scale-factors": PagePicture(lambda request: SCALE_FACTORS.draw_query(request.query)),
    "banks": PagePicture(_draw_banks),
    "chain": PagePicture(lambda request: draw_figure(request.query)),
    "cute": PagePicture(
        lambda request: cute.draw_figure(request.query, request.caption), partial(render_layout, "cute")
    ),
    "layouts/triton": PagePicture(
        lambda request: triton.draw_figure(request.query, request.caption), partial(render_layout, "triton")
    ),
    "layouts/tv": PagePicture(
        lambda request: tv.draw_figure(request.query, request.caption), partial(render_layout, "tv")
    ),
    "tiles/mma": PagePicture(lambda request: whole_tiles.draw_inline(request.query), whole_tiles.render_tiled_mma),
    "tiles/mma/chain": PagePicture(lambda request: chains.draw_inline(request.query)),
    "tiles/copy": PagePicture(
        lambda request: tiled_copy_figure.draw_inline(request.query), tiled_copy_figure.render_tiled_copy
    ),
    "tiles/loop": PagePicture(
        lambda request: main_loop_figure.draw_inline(request.query), main_loop_figure.render_loop
    ),
}
