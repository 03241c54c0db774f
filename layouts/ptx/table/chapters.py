"""The chapters of the PTX ISA 9.1 that describe matrix instructions, one row each, by their own titles."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.role import Opcode


@dataclass(frozen=True, slots=True)
class Chapter:
    """A section of chapter 9.7 with all that is numbered below it."""

    section: str
    title: str

    def holds(self, opcode: Opcode) -> bool:
        """Return whether the syntax of an opcode is described in it."""
        return f"{opcode.source.section}.".startswith(f"{self.section}.")


CHAPTERS = (
    Chapter("9.7.14", "Warp-level matrix multiply-accumulate"),
    Chapter("9.7.15", "Asynchronous warpgroup-level matrix multiply-accumulate"),
    Chapter("9.7.16", "TensorCore 5th generation family"),
)
OTHER = Chapter("", "Other instructions")


def chapter_of(opcode: Opcode) -> Chapter:
    """Return the chapter that describes an opcode, OTHER where none does."""
    return next((chapter for chapter in CHAPTERS if chapter.holds(opcode)), OTHER)
