"""Addresses of pages, one function per page. A query is the whole state of a page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared.tiling import Tile

Query = Mapping[str, object]


def _build_address(path: str, query: Query, safe: str = "") -> str:
    return path + (f"?{urlencode(query, safe=safe)}" if query else "")


def _quote_ptx(instruction: Instruction) -> str:
    return quote(instruction.ptx, safe=":.")


def link_instruction(
    instruction: Instruction, operand: Operand | None = None, form: str = "", query: Query | None = None
) -> str:
    """Link to an instruction's page, or to a picture of it or of one operand."""
    name = f"/{operand.name}" if operand else ""
    return _build_address(f"/i/{_quote_ptx(instruction)}{name}{'.' + form if form else ''}", query or {}, ":,")


def link_tiled_mma(instruction: Instruction) -> str:
    """Link to the TiledMMA of an instruction."""
    return _build_address("/tiles/mma", {"atom": instruction.ptx})


def link_atom_tile(atom: str, idesc: str = "") -> str:
    """Link to the TiledMMA page of an atom; a tcgen05.mma with its instruction descriptor."""
    return _build_address("/tiles/mma", {"atom": atom, **({"idesc": idesc} if idesc else {})}, "(),:<>")


def link_smem(query: Query) -> str:
    """Link to the tile explorer."""
    return _build_address("/smem", query)


def link_tile(tile: Tile, **more: object) -> str:
    """Link to the tile explorer with a tile. more: further fields of its query."""
    query = {"element_bits": tile.element_bits, "major": tile.major, "swizzle": tile.mode.name, "mn": tile.mn}
    return link_smem(query | {"k": tile.k} | more)


def link_descriptor(word: str, query: Query, form: str = "wgmma") -> str:
    """Link to the editor and verifier of a descriptor word. form: the descriptor format."""
    return _build_address(f"/descriptor/{form}/{word}", query)


def link_kernel(instruction: Instruction, options: Query, form: str = "") -> str:
    """Link to a whole program around an instruction, as a page or a file."""
    return _build_address(f"/kernel/{_quote_ptx(instruction)}{'.' + form if form else ''}", options, "=,:<>")


def link_steps(instruction: Instruction, query: Query) -> str:
    """Link to the steps of an instruction."""
    return _build_address(f"/steps/{_quote_ptx(instruction)}", query)


def link_run(instruction: Instruction, options: Query) -> str:
    """Link to a whole product with these options; it is simulated first."""
    return _build_address("/gpu/run", {"kind": "mma", "instruction": instruction.ptx, **options, "backend": "numpy"})


def link_chain(query: Query) -> str:
    """Link to the check whether a load supplies an operand."""
    return _build_address("/chain", query)


def link_reuse(first: Instruction, second: Instruction) -> str:
    """Link to the reuse of D of one instruction as A of another."""
    return _build_address("/reuse", {"from": first.ptx, "to": second.ptx})


def link_diagram(query: Query) -> str:
    """Link to the diagram page."""
    return _build_address("/diagram", query, ":,")


def link_banks(query: Query) -> str:
    """Link to the bank conflicts of an access."""
    return _build_address("/banks", query, ",")


def link_compare(left: str, right: str) -> str:
    """Link to the comparison of two operands, each PTX/operand."""
    return _build_address("/compare", {"left": left, "right": right})
