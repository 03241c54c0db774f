"""Addresses of pages, as every feature writes them: one function a page. A query is the page's whole state. No
framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from lanescope.ptx.instruction import Instruction, Operand

Query = Mapping[str, object]


def _to(path: str, query: Query, safe: str = "") -> str:
    return path + (f"?{urlencode(query, safe=safe)}" if query else "")


def _ptx(instruction: Instruction) -> str:
    return quote(instruction.ptx, safe=":.")


def path_of(
    instruction: Instruction, operand: Operand | None = None, form: str = "", query: Query | None = None
) -> str:
    """An instruction's page, or a picture of it or of one operand."""
    name = f"/{operand.name}" if operand else ""
    return _to(f"/i/{_ptx(instruction)}{name}{'.' + form if form else ''}", query or {}, ":,")


def tiled_mma(instruction: Instruction) -> str:
    """The instruction repeated over warps and a tile."""
    return _to("/tiles/mma", {"atom": instruction.ptx})


def tile_of_atom(atom: str, idesc: str = "") -> str:
    """An atom by its text, over a tile of its own; of a tcgen05.mma with its instruction descriptor."""
    return _to("/tiles/mma", {"atom": atom, **({"idesc": idesc} if idesc else {})}, "(),:<>")


def smem(query: Query) -> str:
    """The tile explorer."""
    return _to("/smem", query)


def descriptor(word: str, query: Query, form: str = "wgmma") -> str:
    """The editor and verifier of a descriptor, by its hex word; form: the format it is read in."""
    return _to(f"/descriptor/{form}/{word}", query)


def kernel(instruction: Instruction, options: Query, form: str = "") -> str:
    """A whole program around an instruction, as a page or in a form."""
    return _to(f"/kernel/{_ptx(instruction)}{'.' + form if form else ''}", options, "=,:<>")


def steps(instruction: Instruction, query: Query) -> str:
    """Everything an instruction does, step by step."""
    return _to(f"/steps/{_ptx(instruction)}", query)


def run(instruction: Instruction, options: Query) -> str:
    """A whole product by these options, simulated first."""
    return _to("/gpu/run", {"kind": "mma", "instruction": instruction.ptx, **options, "backend": "numpy"})


def chain(query: Query) -> str:
    """Does a load feed an operand."""
    return _to("/chain", query)


def reuse(first: Instruction, second: Instruction) -> str:
    """D of one instruction as A of another."""
    return _to("/reuse", {"from": first.ptx, "to": second.ptx})


def diagram(query: Query) -> str:
    """The page that makes a figure."""
    return _to("/diagram", query, ":,")


def banks(query: Query) -> str:
    """What an access costs in banks."""
    return _to("/banks", query, ",")


def compare(left: str, right: str) -> str:
    """Two operands, each as PTX/operand, element by element."""
    return _to("/compare", {"left": left, "right": right})
