"""The template's variables of a TiledMMA page, and the data of its script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

import numpy as np

from lanescope.app.kit import links
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import copy_fact, fact
from lanescope.app.kit.look import build_look
from lanescope.app.kit.maps import drawing, script_data, stage
from lanescope.app.kit.maps.answer import build_answer, get_element_template, get_line_template
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.maps.script_data import TileData, build_shade
from lanescope.app.kit.question_form import Control
from lanescope.app.tiles import answer, draw, facts, state, tiled_copy_facts, tiled_copy_page
from lanescope.app.tiles.state import DIMS, PATH, BenchState
from lanescope.cute import algebra
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import WARP
from lanescope.ptx.threads import WARPGROUP
from lanescope.render import window
from lanescope.tiles import code, shades
from lanescope.tiles.mma import SIDES, TiledMMA, TileOperand

SLIDERS = {"k": "K iteration", "m": "Repeat in M", "n": "Repeat in N"}


@fact
class StepSlider:
    """Selects one step of a dimension; the last position is all of them."""

    name: str
    text: str
    count: int
    value: int


@fact
class MatrixView:
    """One matrix of the page."""

    name: str
    about: str
    modes: str
    svg: str


def build_context(tiled_mma: TiledMMA, chosen: BenchState, default: BenchState) -> dict[str, Any]:
    """Return everything the page of a TiledMMA shows."""
    extents, maps = state.get_extents(tiled_mma), state.make_bench(tiled_mma)
    shown = window.parse_ranges(chosen.view, extents)
    ops = (tiled_mma.b, tiled_mma.a, tiled_mma.c)  # B first: matrices below it would move when it appears
    return {
        "found": tiled_mma,
        "state": chosen,
        "atom_name": code.get_atom_name(tiled_mma) or tiled_mma.atom.instruction.ptx,
        "atoms": code.format_compact(tiled_mma.atom_layout),
        "code": build_code_parts(tiled_mma, chosen.atom),
        "following": list_next_pages(tiled_mma, chosen),
        "layouts": list_layouts(tiled_mma),
        "pictures": list_pictures(chosen, default),
        "sliders": list_sliders(tiled_mma, chosen),
        "matrices": [_build_matrix(tiled_mma, op, chosen, shown) for op in ops],
        "share": format_shares(shown),
        "legend": build_legend(tiled_mma, chosen),
        "tabled": [(op.name, op.name.upper()) for op in (tiled_mma.a, tiled_mma.b, tiled_mma.c) if not op.shared],
        "notes": facts.list_notes(tiled_mma, chosen.target),
        "threads": stage.build_threads(maps, asdict(chosen)),
        "cell_answer": build_answer(maps, asdict(chosen)),
        "figures": list_figures(tiled_mma),
        "data": encode_json(build_page_data(tiled_mma, chosen, default)).decode().replace("</", "<\\/"),
    }


def build_controls(
    tiled_mma: TiledMMA, chosen: BenchState, refused: Iterable[LayoutError], query: Mapping[str, str]
) -> dict[str, Control]:
    """Return the controls of what is seen of a TiledMMA; wrong ones as typed, with their error."""
    typed = ["warps", "lanes"] if state.make_bench(tiled_mma).warps > 1 else ["lanes"]
    choices = {"colour": shades.list_shades(tiled_mma), "label": state.LABEL_WORDS}
    return build_look(choices, typed, asdict(chosen), refused, query)


def format_shares(shown: Mapping[str, tuple[float, float]]) -> tuple[str, str]:
    """Return the relative width of A and height of B as CSS."""
    m, n, k = (shown[dim][1] - shown[dim][0] for dim in "mnk")
    wide = "wide" if k >= 2 * n else "even" if k >= n else "narrow"
    return wide, "tall" if k >= m else "even" if 2 * k >= m else "low"


def _build_matrix(
    tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState, shown: Mapping[str, tuple[float, float]]
) -> MatrixView:
    rows, cols = DIMS[op.name]
    about = f"{rows} × {cols}, {op.row_count} × {op.col_count}"
    modes = f"({','.join(f'_{n}' for n in op.modes)})"
    return MatrixView(
        name=op.name,
        about=f"{about} · {describe_holders(op)}",
        modes=modes,
        svg=draw.draw_operand(tiled_mma, op, chosen, shown),
    )


def describe_holders(op: TileOperand) -> str:
    """Return where an operand is, and how many threads hold each element."""
    if op.shared:
        return f"in shared memory{f', read by {op.copies} warpgroups' if op.copies > 1 else ''}"
    if op.copies == 1:
        return "each element in one thread"
    teams = group_sharing_warps(op)
    if any(len(team) > 1 for team in teams) and len(teams) <= 4:
        verb = "held" if op.name == "c" else "loaded"
        return f"{verb} by {join_words([f'warps {_format_warps(team)}' for team in teams], 'or')}"
    return f"each element in {op.copies} threads"


def _format_warps(team: tuple[int, ...]) -> str:
    """Return warps as text: 0–3 if they are consecutive, else 0 and 2."""
    if len(team) > 2 and team[-1] - team[0] == len(team) - 1:
        return f"{team[0]}–{team[-1]}"
    return join_words(list(map(str, team)), "and")


def group_sharing_warps(op: TileOperand) -> list[tuple[int, ...]]:
    """Return the sets of warps that hold the same elements of an operand in registers, ascending."""
    cells = op.rows.astype(np.int64) * op.col_count + op.cols
    warps: dict[int, set[int]] = {}
    for thread, first in zip(op.thread_ids.tolist(), cells.min(axis=1).tolist(), strict=True):
        warps.setdefault(first, set()).add(thread // WARP.threads)
    return sorted({tuple(sorted(team)) for team in warps.values()})


def list_sliders(tiled_mma: TiledMMA, chosen: BenchState) -> list[StepSlider]:
    """Return the dimensions along which a thread repeats its atom."""
    counts = dict(zip("mnk", tiled_mma.rests, strict=True))
    return [
        StepSlider(name=dim, text=text, count=counts[dim], value=getattr(chosen, dim))
        for dim, text in SLIDERS.items()
        if counts[dim] > 1
    ]


def build_legend(tiled_mma: TiledMMA, chosen: BenchState) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (name of a colouring, its classes: fill and number) for every colouring in use."""
    return stage.build_legend(state.make_bench(tiled_mma), asdict(chosen))


def list_figures(tiled_mma: TiledMMA) -> list[tuple[str, str]]:
    """Return (number, description) of the figures of the tile."""
    ops = {"A": tiled_mma.a, "B": tiled_mma.b, "C": tiled_mma.c}
    counts = [f"{name} {op.registers}" for name, op in ops.items() if not op.shared]
    m, n, k = tiled_mma.steps
    who = "warp" if tiled_mma.atom.threads.size <= WARP.threads else "warpgroup"
    opcode = tiled_mma.atom.instruction.family.opcode
    idle = f"threads, {tiled_mma.idle} idle" if tiled_mma.idle else "threads, none idle"
    out = [
        (str(tiled_mma.threads), idle),
        (str(tiled_mma.registers), f"registers per thread: {', '.join(counts)}"),
        (str(m * n * k), f"{opcode.short or opcode.text} per {who}: {m} × {n} × {k} (M × N × K)"),
    ]
    for name in "AB":
        if not ops[name].shared and ops[name].copies > 1:
            out.append(
                (
                    f"{ops[name].copies}×",
                    f"each element of {name} is {describe_holders(ops[name]).removeprefix('each element ')}",
                )
            )
    return out


def build_code_parts(tiled_mma: TiledMMA, atom: str) -> list[tuple[str, str]]:
    """Return (title, text) of the code that constructs it."""
    parts = [
        ("CuTe, C++", code.render_cute_cpp(tiled_mma)),
        ("CuTe DSL, Python", code.render_cute_python(tiled_mma)),
        ("Lanescope, Python", code.render_lanescope_python(tiled_mma, atom)),
    ]
    return [(title, text) for title, text in parts if text]


def list_layouts(tiled_mma: TiledMMA) -> list[tuple[str, str]]:
    """Return (name, CuTe text) of the layouts that print(tiled_mma) shows."""
    out = [
        ("ThrLayoutVMNK", str(tiled_mma.thread_layout)),
        ("PermutationMNK", algebra.format_tiler(tiled_mma.permutation)),
    ]
    for op, over in ((tiled_mma.a, "(m, k)"), (tiled_mma.b, "(n, k)"), (tiled_mma.c, "(m, n)")):
        out.append((f"LayoutTV_{op.name.upper()} over {over}", str(op.layout or "none: the threads have gaps")))
    return out


def list_next_pages(tiled_mma: TiledMMA, chosen: BenchState) -> list[tuple[str, str]]:
    """Return (text, address) of related pages."""
    out = [
        (
            f"The instruction {name_form(tiled_mma.atom.instruction).text}",
            links.link_instruction(tiled_mma.atom.instruction),
        )
    ]
    n = tiled_mma.tile[1]
    chained = {
        "first": chosen.atom,
        "second": code.get_atom_name(tiled_mma).replace("_SS", "_RS"),
        "atom_layout": chosen.atom_layout,
        "tile": "x".join(map(str, tiled_mma.tile)),
        "width": str(n),
    }
    if tiled_mma.atoms[2] == 1:
        out.append(("Back-to-back GEMM", "/tiles/mma/chain?" + urlencode(chained, safe="(),:")))
    if filled := _link_load_chain(tiled_mma, chosen):
        out.append(("TiledCopy into this A", filled))
    return [
        *out,
        ("A whole main loop", "/tiles/loop"),
        ("Guide: from one atom to a kernel’s tile", "/guide/atom-to-tile"),
    ]


def _link_load_chain(tiled_mma: TiledMMA, chosen: BenchState) -> str:
    """Return the page of ldmatrix.x4 into A, from rows with the 128B swizzle; "" if it does not load this operand."""
    fields = {
        **tiled_copy_page.EMPTY,
        "atom": tiled_copy_page.LDSM,
        "tile": f"{tiled_mma.tile[0]}x{tiled_mma.tile[2]}",
        "mma": chosen.atom,
        "element_bits": str(tiled_mma.a.element_bits),
        "atom_layout": chosen.atom_layout,
        "permutation": chosen.permutation,
        "stored": "rows",
        "swizzle": "128B",
        "pitch_bytes": str(max(128, tiled_mma.tile[2] * tiled_mma.a.element_bits // 8)),
    }
    try:
        tiled_copy_facts.build_cost_sides(
            tiled_copy_facts.parse_tiled_copy(tiled_copy_page.build_body(fields)), tiled_copy_page.build_body(fields)
        )
    except LayoutError:
        return ""
    return tiled_copy_page.link_copy(fields)


def list_pictures(chosen: BenchState, default: BenchState) -> list[tuple[str, str, str]]:
    """Return (format, text, address) of every form of the picture."""
    query = chosen.format_query(default, sel="", target="")  # which does not change the picture
    return drawing.link_forms(PATH, query)


# what the script draws from -------------------------------------------------------------------------------------------


def build_page_data(tiled_mma: TiledMMA, chosen: BenchState, default: BenchState) -> dict[str, Any]:
    """Return the page's data for its script."""
    maps = state.make_bench(tiled_mma)
    return script_data.build_page_data(
        maps,
        asdict(chosen),
        asdict(default),
        asdict(BenchState()),
        operands={name: _build_tile_data(tiled_mma, tiled_mma.operand(name), maps) for name in SIDES},
    ) | {"unpictured": ["sel", "target"], "result": "c"}


def _build_tile_data(tiled_mma: TiledMMA, op: TileOperand, maps: MapBench) -> TileData:
    holder_map = maps.get_map(op.name)
    cells = op.rows.astype("int64") * op.col_count + op.cols
    atom_operand = answer.get_atom_operand(tiled_mma, op)
    each = range(op.modes[0] if not op.shared else 0)
    bits = [atom_operand.register_of(value)[1] for value in each]
    size = atom_operand.element.bits
    names = holder_map.shades
    return copy_fact(
        TileData,
        op,
        title=holder_map.title,
        element_type=atom_operand.element.name,
        rows=holder_map.rows,
        cols=holder_map.cols,
        held_by=op.thread_ids.tolist(),
        team=WARPGROUP if op.shared else 1,
        first=cells[:, 0].tolist(),
        steps=(cells[0] - cells[0, 0]).tolist(),
        period=op.modes[0],
        registers=0 if op.shared else atom_operand.registers,
        register=tuple(atom_operand.register_of(value)[0] for value in each),
        bits=tuple(f"[{bit + size - 1}:{bit}]" for bit in bits),
        spoken_bits=tuple(f"bits {bit} to {bit + size - 1}" for bit in bits),
        digits=(),
        categories={name: build_shade(shade, None if shade.numbers is None else ()) for name, shade in names.items()},
        held=get_element_template(maps, holder_map),
        answer=get_line_template(maps, holder_map),
        value_bits=holder_map.bits[: op.modes[0]],
        per_register=holder_map.per_register,
        repeats={dim: {"step": names[dim].step, "count": names[dim].count} for dim in "kmn" if names[dim].step},
        extra={},
    )


def make_base_state(fields: Mapping[str, str]) -> BenchState:
    """Return the state with only the fields that define the TiledMMA."""
    return BenchState(
        atom=fields["atom"],
        atom_layout=fields["atom_layout"],
        permutation=fields["permutation"],
        tile=fields["tile"],
        target=fields.get("target", ""),
    )
