"""Parse the arguments of assertions: an instruction's operand, a tile in shared memory, a descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.blackwell import idesc as idescs, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, View, view
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction
from lanescope.shared.storage import Storage, make_tile_spec
from lanescope.shared.tile_text import parse_tile_text
from lanescope.shared.tiling import Tile

Word = int | str | Descriptor
TileLike = Tile | Storage | Mapping[str, Any] | str


def make_storage_spec(tile: TileLike) -> dict[str, Any]:
    """Return the storage of a tile given as a Tile, a Storage, a mapping, or a line of text."""
    if isinstance(tile, Tile):
        return make_tile_spec(tile)
    if isinstance(tile, Storage):
        return dict(tile.spec)
    if isinstance(tile, str):
        return parse_tile_text(tile)
    if isinstance(tile, Mapping):
        return {"kind": "canonical", **tile}
    raise TypeError(f"tile is {type(tile).__name__}; a Tile, a Storage, a mapping or text is needed")


def make_operand_view(
    instruction: Instruction | str, operand: str, spec: Mapping[str, Any], idesc: int | str | None, major: str = ""
) -> View:
    """Return how an instruction reads an operand; major: "" for that of the storage.

    LayoutError for a tcgen05.mma without its instruction descriptor, and for any other instruction with one.
    """
    operand = parse_choice(operand, "operand", ("a", "b"), "bad_operand")
    major = parse_choice(major, "major", ("", "K", "MN"), "bad_major")
    text = instruction.ptx if isinstance(instruction, Instruction) else instruction
    major = major or str(spec.get("major") or spec.get("inner") or "")
    if isinstance(text, str) and "tcgen05" in text:
        opcode = umma.parse_mma_opcode(text)
        if idesc is None:
            raise LayoutError(
                "bad_idesc", "idesc is missing.", "The instruction descriptor defines M, N, types and majors.", "idesc"
            )
        word = IdescWord(idescs.parse_idesc_word(idesc, "idesc"), opcode.kind)
        return umma.make_view(opcode, word, operand, major)
    if idesc is not None:
        raise LayoutError("bad_idesc", "idesc is given for a wgmma.", "Leave it out.", "idesc")
    parsed = instruction if isinstance(instruction, Instruction) else lookup.parse_instruction(text, "instruction")
    return view(parsed, operand, major or "K")


def parse_descriptor(word: Word, form: DescriptorFormat) -> Descriptor:
    """Return a descriptor from a number, a 64-bit word in any spelling, or a Descriptor."""
    if isinstance(word, Descriptor):
        if word.format.name != form.name:
            raise LayoutError("bad_word", f"The word is one of {word.format.name}, not {form.name}.", "", "word")
        return word
    if isinstance(word, bool) or not (isinstance(word, str) or hasattr(word, "__index__")):
        raise TypeError(f"word is {type(word).__name__}; an integer, text or a Descriptor is needed")
    return Descriptor(parse_word(word if isinstance(word, str) else word.__index__(), "word").word, form)
