"""Write the output of the preprocessor, with the place in the pasted text of each stretch."""

from __future__ import annotations

from lanescope.reader.code.preprocessing.lexing import JoinedText
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax.source import ParsedSource


class SourceWriter:
    """The output of one run of the preprocessor. length: characters written so far."""

    def __init__(self, joined: JoinedText) -> None:
        self.joined = joined
        self.stretches: list[str] = []
        self.length = 0
        self.starts: list[int] = []
        self.places: list[tuple[int, int, bool]] = []

    def get_text(self) -> str:
        return "".join(self.stretches)

    def make_source(self, text: str) -> ParsedSource:
        """Return the source with `text` in place of the output, which has the same length."""
        return ParsedSource(text, tuple(self.starts), tuple(self.places))

    def write_text(self, text: str, start: int, length: int, copied: bool) -> None:
        """Write text; start, length: its place in the pasted text. copied: whether it is unchanged."""
        if text:
            self.starts.append(self.length)
            self.places.append((start, length, copied))
            self.stretches.append(text)
            self.length += len(text)

    def copy_stretch(self, start: int, end: int) -> None:
        """Copy a stretch of the joined text, with the places of its characters."""
        for first, past in self.joined.split_stretch(start, end):
            self.write_text(self.joined.text[first:past], self.joined.get_original(first), past - first, True)

    def write_expansion(self, expansion: str, use: Span, span: Span) -> None:
        """Write the expansion of a macro, with blanks where it would join an adjacent token.

        use: the place of the macro's use in the joined text; span: its place in the pasted text.
        """
        code, (start, past) = self.joined.text, use
        before = code[start - 1] if start else " "
        after = code[past] if past < len(code) else " "
        left = " " if _may_join(before, expansion[:1]) else ""
        right = " " if _may_join(expansion[-1:], after) else ""
        self.write_text(left + expansion + right, span[0], span[1] - span[0], False)


def _may_join(left: str, right: str) -> bool:
    """Return whether two adjacent characters may be in one token."""
    if not left or not right or left.isspace() or right.isspace():
        return False
    words = (left.isalnum() or left in "_$\"'", right.isalnum() or right in "_$\"'")
    if all(words):
        return True
    if any(words):
        return (left == "." and right.isdigit()) or (left.isdigit() and right in ".+-")
    return left in "+-<>=&|*/%^!:#." and right in "+-<>=&|*/:#.>"
