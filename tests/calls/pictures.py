"""What the modules of views and pictures answer, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from lanescope import find
from lanescope.cute.text import read_layout
from lanescope.descriptor import verify as checking
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.render import cuda, diagram, ptx, tables, tikz
from lanescope.render.diagram import Style
from lanescope.render.palette import PALETTES, STATUSES
from lanescope.render.svg import svg
from lanescope.render.view import Figure, Grid, Panel, figure_of, operand_figure, product_figure, row_figure
from lanescope.shared import banks
from lanescope.shared.storage import storage
from lanescope.tiles.convert import converted
from lanescope.triton.gluon import triton_layout
from tests.asked import F16, W16
from tests.calls import Call, zlib_of
from tests.calls.plans import KINDS, MOVED, known
from tests.held import attempt

# pictures -------------------------------------------------------------------------------------------------------------


def of_views() -> Iterator[Call]:
    for i in known(KINDS + MOVED):
        for name, op in i.operands.items():
            yield f"{name} of {i.ptx}", lambda op=op: viewed(op)
        if "b" in i.operands:
            for product_, cell in ((0, None), (1, (0, 1)), (0, (3, 2))):
                yield (
                    f"product {product_} {cell} {i.ptx}",
                    lambda i=i, p=product_, c=cell: laid(product_figure(i, p, c)),
                )
        yield f"figure {i.ptx}", lambda i=i: [laid(figure_of(i)), attempt(lambda: laid(figure_of(i, 1, (1, 1))))]
        yield (
            f"syntax {i.ptx}",
            lambda i=i: [
                ptx.syntax(i),
                attempt(lambda: ptx.syntax(i, "shared")),
                cuda.wrapper(i),
                cuda.function_name(i),
            ],
        )
    f16 = find(F16)
    yield "a row", lambda: laid(row_figure([(name, Grid(op)) for name, op in f16.operands.items()], (1, 2)))
    grids = [f16.operands["a"], find(W16).operands["d"]]
    for op, rows, cols in product(grids, (None, (0, 3), (4, 9), (15, 15)), (None, (0, 1), (2, 5))):
        yield f"window {op.name} {rows} {cols}", lambda op=op, r=rows, c=cols: laid(operand_figure(op, rows=r, cols=c))


def viewed(op: Any) -> list[Any]:
    one = Grid(op)
    cells = [(r, c) for r in {0, 1, one.rows - 1} for c in {0, 1, one.cols - 1} if r < one.rows and c < one.cols]
    return [
        one.rows, one.cols, one.thread, one.value, one.register, one.colour_names,
            [one.category(name) for name in one.colour_names],
        [attempt(lambda k=k: zlib_of(str(one.labels(k)))) for k in ("lane:value", "register", "row,col", "index",
            "thread", "value", "x")],
        [(one.spoken(*at), one.spoken(*at, "T")) for at in sorted(cells)], one.unit, one.holder(0), one.holder(33),
            [one.bits(v) for v in range(3)],
        [one.spoken_bits(v) for v in range(3)], one.axis_templates(), op.formula(), op.cute,
            attempt(lambda: op.turned), op.registers,
        [op.register_of(v) for v in range(op.values)][:9], op.scope.name, op.padding_below,
    ]  # fmt: skip


def laid(figure: Figure) -> list[Any]:
    return [figure.width, figure.height, figure.cells] + [
        [p.name, p.title, p.rows, p.cols, p.x, p.y, p.cell_width, p.cell_height, p.drawn, p.width, p.height, p.window,
            p.warp_edges]
        for p in figure.panels
    ]  # fmt: skip


def of_pictures() -> Iterator[Call]:
    themes = [None, *PALETTES.values()]
    for at, i in enumerate(known((*KINDS[:3], *KINDS[14:16], *MOVED[:2]))):
        figure = figure_of(i)
        names = [name for p in figure.panels[:1] if p.grid for name in p.grid.colour_names]
        for n, theme in enumerate(themes):
            style = Style(colour=names[(at + n) % len(names)] if names else "g", label=("lane:value", "register",
                "row,col", "index")[n],
                          threads=None if n % 2 else frozenset((0, 5, 33)), palette=theme, title=(None, "", "A & <b>",
                              "t" * 90)[n], legend=n != 1,
                          caption=n != 2, lang=("en", "de", "fr", "zh")[(at + n) % 4])  # fmt: skip
            yield (
                f"{i.ptx} {theme and theme.name}",
                lambda f=figure, s=style: zlib_of(diagram.diagram(f, s, "Title", "Said", "<g/>")),
            )
        yield (
            f"as TikZ {i.ptx}",
            lambda f=figure: [
                zlib_of(tikz.tikz(diagram.diagram(f, Style(), "T & _x"), alone)) for alone in (True, False)
            ],
        )
        panel = next(p for p in figure.panels if p.grid)
        yield f"as text {i.ptx}", lambda p=panel: [zlib_of(made(p, label, some)) for made in (tables.plain,
            tables.markdown)
                                                   for label in ("lane:value", "register") for some in (None,
                                                       frozenset((0, 3)))]  # fmt: skip
        yield (
            f"as numbers {i.ptx}",
            lambda p=panel: [
                zlib_of(tables.csv(p.grid.operand)),
                zlib_of(tables.csv(p.grid.operand, p, frozenset((1,)))),
            ],
        )
    states = np.arange(len(STATUSES), dtype=np.int32)[None, :]
    panel = Panel(
        "p", "p", 1, len(STATUSES), 20, 30, 20, 20, None, status=states, texts=[[str(n) for n in range(len(STATUSES))]]
    )
    for theme in themes:
        for colours in (4, 5, 8, 9, 12):
            kinds = Panel(
                "p", "p", 1, colours, 20, 30, 20, 20, None, category=np.arange(colours, dtype=np.int32)[None, :]
            )
            yield (
                f"{colours} colours {theme and theme.name}",
                lambda k=kinds, t=theme: svg(Figure(400, 80, (k,)), title="c", palette=t),
            )
        yield f"states {theme and theme.name}", lambda t=theme: svg(Figure(400, 80, (panel,)), title="s", palette=t)
    for lang in ("en", "de", "fr", "zh", "it", "x" * 30):
        yield f"caption {lang}", lambda lang=lang: diagram.caption(figure_of(find(W16)), lang)


# what a notebook shows ------------------------------------------------------------------------------------------------


BLOCKED = (
    "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])",
    "gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])",
    "gl.BlockedLayout([4, 1], [4, 8], [4, 1], [0, 1])",
    "gl.BlockedLayout([1, 4], [8, 4], [1, 4], [1, 0])",
    "gl.BlockedLayout([2, 2], [8, 4], [4, 1], [1, 0])",
    "gl.BlockedLayout([2, 2], [8, 4], [4, 1], [0, 1])",
)


def of_shown() -> Iterator[Call]:
    for name, stride in product(("ld.shared.b32", "ld.shared.b128", "ldmatrix.x4"), (4, 8, 16, 64, 128)):
        lanes = [stride * lane for lane in range(32)]
        yield f"cost {name} {stride}", lambda n=name, lanes=lanes: banks.cost(banks.access(n), lanes)._repr_html_()
    for one, other in product(BLOCKED, BLOCKED):
        yield (
            f"{one} to {other}",
            lambda a=one, b=other: converted(
                triton_layout(a, (32, 16), 16), triton_layout(b, (32, 16), 16)
            )._repr_html_(),
        )
    seen = View(64, 16, 16, "K")
    for text in (
        "(64,64):(64,1)",
        "(4096,1):(1,1)",
        "(4097,1):(1,1)",
        "(1,4096):(1,1)",
        "(5,7):(7,1)",
        "5:3",
        "(0,1):(1,1)",
    ):
        yield f"layout {text}", lambda text=text: read_layout(text)._repr_svg_()
    for word in (0, 0x4000004000010040, 0x4000002000010040, 0x8000004000010040, 0x4000004000010041):
        yield (
            f"verdict {word:#x}",
            lambda word=word: checking.verify(
                Descriptor(word),
                seen,
                storage({"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 1024}, 16, "K"),
            )._repr_html_(),
        )
