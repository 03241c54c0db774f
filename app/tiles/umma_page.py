"""The template's variables of a TiledMMA in tensor memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit import links
from lanescope.app.kit.maps import drawing
from lanescope.app.tiles import facts, umma_facts, umma_figure, umma_sheets
from lanescope.app.tiles.bench import list_layouts
from lanescope.app.tiles.state import PATH
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.tiles import umma_code
from lanescope.tiles.umma import NAMES, TiledUmma, UmmaTileStep

SHOWN = 64  # MMAs that the page lists; the CSV has all of them


def list_controls(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the controls that the form shows: PTX lacks some parameters of CUTLASS's atoms."""
    by_ptx = ("idesc", "a_from") if fields["atom"].lstrip().startswith("tcgen05") else ()
    return ("atom", "tile", *by_ptx, "swizzle_a", "swizzle_b", "order", "target")


def build_context(tiled_umma: TiledUmma, fields: Mapping[str, str], sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables; sent: the address with its pins."""
    atom = tiled_umma.umma
    answer = umma_facts.build_umma(tiled_umma)
    name = umma_code.get_atom_name(atom) or atom.bound.ptx
    query = urlencode({key: value for key, value in fields.items() if value and key != "target"}, safe="(),:<>")
    product, wide, high = umma_figure.draw_product(tiled_umma)
    product = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" class="umma-product"'
        f' role="img"><title>{umma_figure.describe_tile(tiled_umma)}</title>{product}</svg>'
    )
    tensor = umma_figure.draw_tensor_map(tiled_umma) if tiled_umma.columns <= 512 else ""
    sheets = umma_sheets.make_sheet_page(tiled_umma)
    pinned = sheets.build_context(sent)
    return {
        **pinned,
        "found": tiled_umma,
        "answer": answer,
        "atom_name": name,
        "ptx": atom.bound.ptx,
        "summary": umma_figure.describe_tile(tiled_umma),
        "verdict": format_verdict(tiled_umma),
        "numbers": list_figures(tiled_umma),
        "pictures": drawing.link_forms(PATH, query),
        "product": sheets.ring(product, umma_sheets.PRODUCT, pinned["pins"]),
        "tensor": sheets.ring(tensor, umma_sheets.TENSOR, pinned["pins"]),
        "spans": umma_figure.format_columns(tiled_umma),
        "columns": [NAMES[place] for place in tiled_umma.places],
        "steps": [_build_step(tiled_umma, mma) for mma in tiled_umma.mmas[:SHOWN]],
        "more": max(len(tiled_umma.mmas) - SHOWN, 0),
        "tiles": [_build_tile(tiled_umma, name) for name in tiled_umma.shared],
        "places": [
            {
                "name": NAMES[place.operand],
                "place": place,
                "first": place.addresses[0],
                "last": place.addresses[-1],
                "count": len(place.addresses),
            }
            for place in answer.tensor
        ],
        "notes": facts.list_notes(tiled_umma, fields.get("target", "")),
        "layouts": [
            (text.replace("LayoutTV_", "Layout") if "over" in text else text, value)
            for text, value in list_layouts(tiled_umma)
        ],
        "code": build_code_parts(tiled_umma, fields),
        "following": list_next_pages(tiled_umma, answer),
    }


def format_verdict(tiled_umma: TiledUmma) -> tuple[bool, str, str]:
    """Return (whether it fits, headline, sentence)."""
    faults = tiled_umma.faults
    if faults:
        return False, "The tile does not fit tensor memory", " ".join(fault.message for fault in faults)
    count = len(tiled_umma.mmas)
    shared = sum(operand.tile.bytes for operand in tiled_umma.shared.values())
    m, n, k = tiled_umma.repeats
    each = "each CTA" if tiled_umma.ctas > 1 else "the CTA"
    reads = f"They read {shared} bytes of shared memory of {each} and" if shared else "They"
    return (
        True,
        f"{count} MMA{'s' if count > 1 else ''}, {tiled_umma.columns} of 512 columns of tensor memory",
        f"{m} × {n} × {k} MMAs (M × N × K), issued by one thread. {reads} need an allocation of {tiled_umma.allocation}"
        " columns.",
    )


def list_figures(tiled_umma: TiledUmma) -> list[tuple[str, str]]:
    """Return (number, description) of the figures of the tile."""
    m, n, k = tiled_umma.umma.shape
    word = tiled_umma.umma.word
    return [
        (f"{m} × {n} × {k}", f"one MMA, {tiled_umma.umma.bound.ptx}"),
        (str(tiled_umma.ctas), "CTA issues it" if tiled_umma.ctas == 1 else "CTAs issue it together: ThrID is 2"),
        (str(word), "instruction descriptor" + (" of the first MMA" if tiled_umma.umma.factors else "")),
        (
            f"{word.types['d']} += {word.types['a']} × {word.types['b']}",
            f"A {tiled_umma.umma.get_major('a')}-major, B {tiled_umma.umma.get_major('b')}-major",
        ),
    ]


def link_descriptor(tiled_umma: TiledUmma, operand: str, word: str) -> str:
    """Link to a matrix descriptor, read under this MMA."""
    query = {
        "instruction": tiled_umma.umma.issued.ptx,
        "idesc": str(tiled_umma.umma.word),
        "operand": operand,
        "major": tiled_umma.umma.get_major(operand),
    }
    return links.link_descriptor(word, query, TCGEN05.name)


def _build_step(tiled_umma: TiledUmma, mma: UmmaTileStep) -> dict[str, Any]:
    step = umma_facts.build_step(mma)
    return {
        "step": step,
        "k": mma.k * tiled_umma.umma.shape[2],
        "pages": {
            name: link_descriptor(tiled_umma, name, word) for name, word in (("a", step.a), ("b", step.b)) if word
        },
        "idesc": f"/idesc/{step.idesc}?kind={tiled_umma.umma.mma.kind.name}",
        "addresses": [step.tensor[name] for name in tiled_umma.places],
    }


def _build_tile(tiled_umma: TiledUmma, name: str) -> dict[str, Any]:
    operand = tiled_umma.shared[name]
    tile = operand.tile
    return {
        "name": name.upper(),
        "tile": tile,
        "rows": "rows" if name == "a" else "columns",
        "cute": operand.cute,
        "atom": umma_code.format_layout_atom(tile.mode, tile.major, ""),
        "href": links.link_tile(tile, format=TCGEN05.name, rows=operand.rows, order=tile.order, base=tile.base),
        "first": tile.base,
        "last": tile.base + tile.bytes - 1,
    }


def build_code_parts(tiled_umma: TiledUmma, query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (title, text) of the code that constructs it."""
    parts = [
        ("CuTe, C++", umma_code.render_cute_cpp(tiled_umma)),
        ("CuTe DSL, Python", umma_code.render_cute_python(tiled_umma)),
        (
            "Lanescope, Python",
            umma_code.render_lanescope_python(tiled_umma, umma_code.format_template(tiled_umma.umma) or query["atom"]),
        ),
    ]
    return [(title, text) for title, text in parts if text]


def list_next_pages(tiled_umma: TiledUmma, answer: umma_facts.UmmaFacts) -> list[tuple[str, str]]:
    """Return (text, address) of related pages."""
    atom = tiled_umma.umma
    out = [
        ("The instruction with this descriptor", links.link_instruction(atom.bound, query={"idesc": str(atom.word)}))
    ]
    out.append(("Its instruction descriptor", f"/idesc/{atom.word}?kind={atom.mma.kind.name}"))
    if answer.epilogue:
        out.append(("D’s epilogue", answer.epilogue))
    out.append(("One MMA in tensor memory", umma_facts.link_placement(tiled_umma)))
    if atom.factors and tiled_umma.sides:
        a, _ = tiled_umma.sides
        query = {
            "kind": atom.mma.kind.name,
            "scale_vec": atom.factors,
            "cta_group": atom.mma.ctas,
            "sparse": int(atom.word.sparse),
            "m": atom.mma.m,
            "n": atom.mma.n,
            "tile_k": tiled_umma.tile[2],
            "column": a.column,
        }
        out.append(("Scale factors to tensor memory", f"/scale-factors?{urlencode(query)}"))
    return [*out, ("Guide: three descriptors of one MMA", "/guide/three-descriptors")]


def format_tile(tiled_umma: TiledUmma) -> list[str]:
    """Return the lines of the command."""
    answer = umma_facts.build_umma(tiled_umma)
    m, n, k = tiled_umma.repeats
    fits, title, _ = format_verdict(tiled_umma)
    out = [
        f"{answer.atom_text or tiled_umma.umma.bound.ptx}",
        f"  {umma_figure.describe_tile(tiled_umma)}; {umma_facts.EVIDENCE}",
        f"  {tiled_umma.umma.bound.ptx}, instruction descriptor {tiled_umma.umma.word}, {m}×{n}×{k} MMAs",
        f"  {'' if fits else 'does not fit: '}{title}",
    ]
    for name, tile in answer.shared.items():
        out.append(
            f"  {name.upper()} of each CTA: {tile.mn}×{tile.k}, {tile.major}-major, swizzle {tile.swizzle}, bytes"
            f" {tile.base} to {tile.base + tile.bytes - 1}, {tile.layout}"
        )
    for place in answer.tensor:
        out.append(
            f"  {NAMES[place.operand]} in tensor memory: {place.columns} columns from {place.addresses[0]},"
            f" layout {place.id}"
        )
    out += [f"  {says}" for says in (*tiled_umma.inferred, *answer.open.values())]
    head = ["m", "n", "k", "a", "b", *tiled_umma.places, "idesc"]
    out.append("  " + " ".join(head))
    for step in answer.steps[:SHOWN]:
        cells = [step.m, step.n, step.k, step.a or "-", step.b or "-", *step.tensor.values(), step.idesc]
        out.append("  " + " ".join(map(str, cells)))
    if answer.steps[SHOWN:]:
        out.append(f"  … {len(answer.steps) - SHOWN} more, with --json")
    return out
