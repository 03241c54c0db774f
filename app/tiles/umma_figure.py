"""A TiledMMA in tensor memory as a picture: A, B and D as in a product, by CTA and MMA, and tensor memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import drawing
from lanescope.app.tiles import facts, forms, questions
from lanescope.app.tmem import draw as memory
from lanescope.blackwell import tmem
from lanescope.blackwell.tmem import Allocation, PlacedOperand
from lanescope.render.palette import Palette
from lanescope.render.svg import render_hatches
from lanescope.render.tables import format_titled
from lanescope.tiles.umma import NAMES, TiledUmma

OPTIONS = {"part": "product or tensor alone", **drawing.STYLE}
SIDE, K_LEAST, K_MOST = 300.0, 88.0, 190.0  # pixels: longer side of D; length of K
LEFT, TOP, GAP = 64.0, 46.0, 40.0
BETWEEN = 12.0  # space between the product and tensor memory
SECOND = 5  # fill of the second CTA of a pair
DRAWN = {"scale_a": "SFA", "scale_b": "SFB", "metadata": "E"}  # CUTLASS's names
_NAMED = re.compile(r"var\(--([\w-]+)\)")
_ROLES = {"raised": "paper", "soft": "paper", "rule": "line", "edge": "line", "cell-line": "line", "cell-ink": "ink"}


def render_umma(form: str, query: Mapping[str, str]) -> Picture:
    """Return the picture, table or text of a tile for a query. LayoutError names the first illegal option."""
    diagrams.check_picture_options(form, query, OPTIONS, (*forms.MMA, *forms.UMMA))
    tiled_mma = questions.parse_mma(forms.build_mma_body(forms.add_umma_fields(query)))
    assert isinstance(tiled_mma, TiledUmma)
    if form == "json":
        return encode_json(facts.build_mma(tiled_mma))
    if form in ("csv", "txt", "md"):
        return _format_steps(form, tiled_mma)
    parts = [part for part in ("product", "tensor") if query.get("part") in (None, "", part)]
    drawing = draw_umma(tiled_mma, diagrams.get_palette(query), query.get("title", ""), parts)
    return diagrams.render_svg(form, drawing, query)


def draw_umma(tiled_umma: TiledUmma, theme: Palette | None, title: str = "", parts: list[str] | None = None) -> str:
    """Return the product with tensor memory below it; theme None uses the page's colours."""
    above = drawing.ABOVE if title else 0.0
    inside, width, height = [], 200.0, above
    for part in parts or ["product", "tensor"]:
        text, wide, high = draw_product(tiled_umma) if part == "product" else draw_tensor_memory(tiled_umma)
        inside.append(f'<g transform="translate(0 {height:.0f})">{text}</g>')
        width, height = max(width, wide), height + high + BETWEEN
    head = f'<text x="8" y="17" font-size="14" font-weight="600" fill="var(--ink)">{escape(title)}</text>'
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" font-family="\'DejaVu Sans Mono\', ui-monospace, monospace">'
        f"<title>{escape(describe_tile(tiled_umma))}</title>{head if title else ''}{''.join(inside)}</svg>"
    )
    return apply_theme(drawn, theme) if theme else drawn


def apply_theme(drawn: str, theme: Palette) -> str:
    """Return a picture with a theme's colours instead of the page's."""

    def colour(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("fill-"):
            return theme.fills[int(name.removeprefix("fill-"))]
        return str(getattr(theme, _ROLES.get(name, name)))

    coloured = _NAMED.sub(colour, drawn)
    if theme.name != "bw":
        return coloured
    head, _, rest = coloured.partition("</title>")
    return f"{head}</title>{''.join(render_hatches())}{rest}"


def describe_tile(tiled_umma: TiledUmma) -> str:
    """Describe the tile in a sentence."""
    m, n, k = tiled_umma.tile
    who = "a pair of CTAs" if tiled_umma.ctas > 1 else "one CTA"
    where = "A in tensor memory, B" if tiled_umma.umma.tensor_a else "A and B"
    return f"{m} × {n} × {k} tile of {who}: {where} in shared memory, D in tensor memory"


# A, B and D as in a product -------------------------------------------------------------------------------------------


def place_matrices(tiled_umma: TiledUmma) -> dict[str, tuple[float, float, float, float]]:
    """Return (x, y, width, height) of A, B and D (as c): A left of D, B above it."""
    m, n, _ = tiled_umma.tile
    scale = SIDE / max(m, n)
    high, wide = max(m * scale, 92.0), max(n * scale, 92.0)
    deep = min(max(26.0 * tiled_umma.repeats[2], K_LEAST), K_MOST)
    left, top = LEFT + deep + GAP + 30, TOP + deep + GAP
    return {"a": (LEFT, top, deep, high), "b": (left, TOP, wide, deep), "c": (left, top, wide, high)}


def draw_product(tiled_umma: TiledUmma) -> tuple[str, float, float]:
    """Return (shapes, width, height) of A, B and D; a fill per CTA, a line per MMA."""
    m, n, k = tiled_umma.tile
    boxes = place_matrices(tiled_umma)
    left, top, wide, high = boxes["c"]
    stored = " (half is stored)" if tiled_umma.umma.word.sparse else ""
    a_in = "tensor memory" if tiled_umma.umma.tensor_a else "shared memory"
    out = [
        *_draw_matrix(tiled_umma, "a", f"A {m} × {k}", f"{a_in}{stored}", boxes["a"]),
        *_draw_matrix(tiled_umma, "b", f"B {k} × {n}", "shared memory", boxes["b"]),
        *_draw_matrix(tiled_umma, "c", f"D {m} × {n}", "tensor memory", boxes["c"]),
    ]
    return "".join(out), left + wide + 12, top + high + 12


def _draw_matrix(
    tiled_umma: TiledUmma, name: str, title: str, place: str, box: tuple[float, float, float, float]
) -> list[str]:
    x, y, wide, high = box
    at, size = (x, y), (wide, high)
    m, n, k = tiled_umma.tile
    rows, cols = {"a": (m, k), "b": (k, n), "c": (m, n)}[name]
    across, down = wide / cols, high / rows
    out, words = [], []
    for cta, (r0, r1, c0, c1) in find_cta_shares(tiled_umma, name):
        corner = f'x="{x + c0 * across:.1f}" y="{y + r0 * down:.1f}" width="{(c1 - c0) * across:.1f}"'
        out.append(
            f'<rect {corner} height="{(r1 - r0) * down:.1f}" fill="var(--fill-{cta * SECOND})"'
            ' stroke="var(--cell-line)" stroke-width="1.4"/>'
        )
        texts = [f"rows {r0}–{r1 - 1}" if name != "b" else f"columns {c0}–{c1 - 1}"]
        texts = [f"CTA {cta}", *texts] if tiled_umma.ctas > 1 else texts
        middle = y + (r0 + r1) / 2 * down + (4 if len(texts) == 1 else -3)
        words += [
            _draw_text(x + (c0 + c1) / 2 * across, middle + 13 * line, text, size=10, anchor="middle", ink="cell-ink")
            for line, text in enumerate(texts)
            if (c1 - c0) * across >= 6.3 * len(text) and (r1 - r0) * down >= 13 * len(texts)
        ]
    if lines := _draw_mma_edges(tiled_umma, name, at, (across, down), size):
        out.append(
            f'<path d="{lines}" fill="none" stroke="var(--cell-line)" stroke-width="0.8"'
            ' stroke-dasharray="4 3" opacity="0.55"/>'
        )
    lead = 30 if name == "b" else 17
    out += [
        _draw_text(x, y - lead, title, size=12, anchor="start", ink="ink", bold=True),
        _draw_text(x, y - lead + 12, place, size=9.5, anchor="start", ink="muted"),
    ]
    return [*out, *words, *_draw_marks(tiled_umma, name, at, (across, down))]


def _draw_marks(tiled_umma: TiledUmma, name: str, at: tuple[float, float], scale: tuple[float, float]) -> list[str]:
    """Return the rows of A, or columns of B, at which the shares of the CTAs begin and end."""
    (x, y), (across, down) = at, scale
    if name == "c":
        return []
    shares = [share for _, share in find_cta_shares(tiled_umma, name)]
    if name == "b":
        columns = sorted({edge for _, _, *edges in shares for edge in edges})
        return [_draw_text(x + c * across, y - 5, str(c), size=9, anchor="middle", ink="muted") for c in columns]
    rows = sorted({edge for first, end, *_ in shares for edge in (first, end)})
    return [_draw_text(x - 5, y + r * down + 3, str(r), size=9, anchor="end", ink="muted") for r in rows]


def _draw_mma_edges(
    tiled_umma: TiledUmma, name: str, at: tuple[float, float], scale: tuple[float, float], size: tuple[float, float]
) -> str:
    """Return the edges of MMAs inside a matrix, as a path."""
    (x, y), (across, down), (wide, high) = at, scale, size
    out = ""
    for step, count, vertical in _find_mma_edges(tiled_umma, name):
        for n in range(1, count):
            out += (
                f"M{x + n * step * across:.1f} {y:.1f}v{high:.1f}"
                if vertical
                else f"M{x:.1f} {y + n * step * down:.1f}h{wide:.1f}"
            )
    return out


def find_cta_shares(tiled_umma: TiledUmma, name: str) -> list[tuple[int, tuple[int, int, int, int]]]:
    """Return (CTA, (first row, end, first column, end)) of a matrix: a piece per MMA in M or N."""
    _, n, k = tiled_umma.tile
    out = []
    own_m, own_n, _ = tiled_umma.umma.shape
    for cta in range(tiled_umma.ctas):
        if name == "b":
            share = own_n // tiled_umma.ctas
            out += [
                (cta, (0, k, at * own_n + cta * share, at * own_n + (cta + 1) * share))
                for at in range(tiled_umma.repeats[1])
            ]
        else:
            share, cols = own_m // tiled_umma.ctas, k if name == "a" else n
            out += [
                (cta, (at * own_m + cta * share, at * own_m + (cta + 1) * share, 0, cols))
                for at in range(tiled_umma.repeats[0])
            ]
    return sorted(out, key=lambda piece: piece[1])


def _find_mma_edges(tiled_umma: TiledUmma, name: str) -> list[tuple[int, int, bool]]:
    """Return (elements of one MMA, number of MMAs, whether its edges are vertical) for both dimensions."""
    (m, n, k), (i, j, l) = tiled_umma.umma.shape, tiled_umma.repeats
    return {"a": [(k, l, True), (m, i, False)], "b": [(k, l, False), (n, j, True)], "c": [(m, i, False), (n, j, True)]}[
        name
    ]


def _draw_text(x: float, y: float, text: str, *, size: float, anchor: str, ink: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{weight} fill="var(--{ink})">'
        f"{escape(text)}</text>"
    )


# tensor memory --------------------------------------------------------------------------------------------------------


def draw_tensor_memory(tiled_umma: TiledUmma) -> tuple[str, float, float]:
    """Return (shapes, width, height) of the map of tensor memory, for both CTAs of a pair."""
    drawn = draw_tensor_map(tiled_umma)
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn)
    assert size
    inside = drawn[drawn.index("</title>") + len("</title>") : drawn.rindex("</svg>")]
    return inside, float(size[1]), float(size[2])


def draw_tensor_map(tiled_umma: TiledUmma) -> str:
    """Return the map of tensor memory as a picture in the page's colours; the CTAs of a pair are alike."""
    placed = [join_place for name, every in tiled_umma.places.items() for join_place in join_places(name, every)]
    none = np.zeros((tmem.LANES, tmem.COLUMNS), bool)
    who = "CTA"
    if tiled_umma.ctas > 1:
        rows = tiled_umma.umma.mma.place.rows
        who = f"Each CTA of the pair, alike: CTA 0 rows 0–{rows - 1} of D, CTA 1 rows {rows}–{2 * rows - 1}"
        who += ", of each MMA" * (tiled_umma.repeats[0] > 1)
    texts = [
        (placed_operand, f"{placed_operand.name}: from column {placed_operand.column}, lane {placed_operand.lane}")
        for placed_operand in placed
    ]
    return memory.draw_tmem([(who, texts)], Allocation(tiled_umma.allocation or tmem.COLUMNS), None, none)


@dataclass(frozen=True, slots=True)
class TensorRegion(PlacedOperand):
    """Adjacent columns of one operand, drawn as one region."""

    wide: int = 0

    @property
    def mask(self) -> tmem.Mask:
        out = np.zeros((tmem.LANES, tmem.COLUMNS), bool)
        lanes = PlacedOperand.mask.fget(self).any(axis=1)  # type: ignore[attr-defined]  # the lanes of one of them
        out[lanes, self.column : self.column + self.wide] = True
        return out


def join_places(name: str, every: list[PlacedOperand]) -> list[PlacedOperand]:
    """Return the regions of an operand as drawn: each D by its number; of other operands one."""
    called = DRAWN.get(name, NAMES[name])
    if name == "d":
        return [replace(placed, name=f"{called} {at}" if len(every) > 1 else called) for at, placed in enumerate(every)]
    last = max(placed.column + placed.layout.columns for placed in every)
    first = every[0]
    return [TensorRegion(called, first.layout, first.lane, first.column, last - first.column)]


def format_columns(tiled_umma: TiledUmma) -> str:
    """Return a line with the columns of each operand."""
    out = []
    for name, every in tiled_umma.places.items():
        last = max(placed.column + placed.layout.columns for placed in every) - 1
        out.append(f"{DRAWN.get(name, NAMES[name])} {every[0].column}–{last}")
    return ", ".join(out)


# the MMAs -------------------------------------------------------------------------------------------------------------


def _format_steps(form: str, tiled_umma: TiledUmma) -> str:
    """Return a line for every MMA of the tile: its descriptors and addresses."""
    names = list(tiled_umma.places)
    head = ["m", "n", "k", "a", "b", *names, "idesc"]
    lines = [
        [
            str(step.m),
            str(step.n),
            str(step.k),
            str(step.a or ""),
            str(step.b or ""),
            *(f"0x{step.addresses[name]:08x}" for name in names),
            str(step.word),
        ]
        for step in tiled_umma.mmas
    ]
    return format_titled(form, describe_tile(tiled_umma), head, lines)
