"""Addresses of pages, as every feature writes them: one function a page. A query is the page's whole state. No
framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from lanescope.ptx.instruction import Instruction, Operand

Query = Mapping[str, object]


def _build_address(path: str, query: Query, safe: str = "") -> str:
    return path + (f"?{urlencode(query, safe=safe)}" if query else "")


def _quote_ptx(instruction: Instruction) -> str:
    return quote(instruction.ptx, safe=":.")


def link_instruction(
    instruction: Instruction, operand: Operand | None = None, form: str = "", query: Query | None = None
) -> str:
    """Link an instruction's page, or a picture of it or of one operand."""
    name = f"/{operand.name}" if operand else ""
    return _build_address(f"/i/{_quote_ptx(instruction)}{name}{'.' + form if form else ''}", query or {}, ":,")


def link_tiled_mma(instruction: Instruction) -> str:
    """Link the instruction repeated over warps and a tile."""
    return _build_address("/tiles/mma", {"atom": instruction.ptx})


def link_atom_tile(atom: str, idesc: str = "") -> str:
    """Link an atom by its text, over a tile of its own; a tcgen05.mma with its instruction descriptor."""
    return _build_address("/tiles/mma", {"atom": atom, **({"idesc": idesc} if idesc else {})}, "(),:<>")


def link_smem(query: Query) -> str:
    """Link the tile explorer."""
    return _build_address("/smem", query)


def link_descriptor(word: str, query: Query, form: str = "wgmma") -> str:
    """Link the editor and verifier of a descriptor, by its hex word; form: the format it is read in."""
    return _build_address(f"/descriptor/{form}/{word}", query)


def link_kernel(instruction: Instruction, options: Query, form: str = "") -> str:
    """Link a whole program around an instruction, as a page or in a form."""
    return _build_address(f"/kernel/{_quote_ptx(instruction)}{'.' + form if form else ''}", options, "=,:<>")


def link_steps(instruction: Instruction, query: Query) -> str:
    """Link everything that an instruction does, step by step."""
    return _build_address(f"/steps/{_quote_ptx(instruction)}", query)


def link_run(instruction: Instruction, options: Query) -> str:
    """Link a whole product by these options, simulated first."""
    return _build_address("/gpu/run", {"kind": "mma", "instruction": instruction.ptx, **options, "backend": "numpy"})


def link_chain(query: Query) -> str:
    """Link the page that shows whether a load feeds an operand."""
    return _build_address("/chain", query)


def link_reuse(first: Instruction, second: Instruction) -> str:
    """Link D of one instruction as A of another."""
    return _build_address("/reuse", {"from": first.ptx, "to": second.ptx})


def link_diagram(query: Query) -> str:
    """Link the page that makes a figure."""
    return _build_address("/diagram", query, ":,")


def link_banks(query: Query) -> str:
    """Link the cost of an access in banks."""
    return _build_address("/banks", query, ",")


def link_compare(left: str, right: str) -> str:
    """Link two operands, each as PTX/operand, element by element."""
    return _build_address("/compare", {"left": left, "right": right})
