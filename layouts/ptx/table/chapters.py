"""The chapters of the PTX ISA 9.1 that describe matrix instructions, one row each, by their own titles."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.role import OpcodeWords


@dataclass(frozen=True, slots=True)
class IsaChapter:
    """A section of chapter 9.7 with its subsections."""

    section: str
    title: str

    def describes_opcode(self, opcode: OpcodeWords) -> bool:
        """Return whether the syntax of an opcode is described in this section."""
        return f"{opcode.source.section}.".startswith(f"{self.section}.")


CHAPTERS = (
    IsaChapter("9.7.14", "Warp-level matrix multiply-accumulate"),
    IsaChapter("9.7.15", "Asynchronous warpgroup-level matrix multiply-accumulate"),
    IsaChapter("9.7.16", "TensorCore 5th generation family"),
)
OTHER = IsaChapter("", "Other instructions")


def get_chapter(opcode: OpcodeWords) -> IsaChapter:
    """Return the chapter that describes an opcode, OTHER if none does."""
    return next((chapter for chapter in CHAPTERS if chapter.describes_opcode(opcode)), OTHER)
