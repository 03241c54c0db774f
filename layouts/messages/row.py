"""A message of a tool: texts, reason, change, and the smallest programs with and without the error."""

from __future__ import annotations

import re
from dataclasses import dataclass

PTXAS, DRIVER, CUTE = "ptxas", "driver", "cute"
SOURCES = {
    PTXAS: "ptxas",
    DRIVER: "cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col",
    CUTE: "Static assertions of CuTe",
}
RELEASES = ("12.9", "13.5")  # ptxas's default target in the tests
LONGEST_VALUE = 4000  # most characters of a printed name; mangled names are long
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One message.

    slug: its address; texts: as printed by the tool, newest first, {name} for values; codes: (release, number) of
    ptxas; place: where it is raised; wrong, right: programs with and without the error, "" if no program of this
    project raises it; architecture, options: of ptxas; rule: the code of lanescope's check; links: (words, page).
    """

    slug: str
    source: str
    title: str
    texts: tuple[str, ...] = ()
    reason: str
    change: str
    wrong: str = ""
    right: str = ""
    codes: tuple[tuple[str, str], ...] = ()
    place: str = ""
    release: str = ""  # the tool that raised it in this project's tests
    architecture: str = ""  # target of the wrong program, if not its .target
    options: tuple[str, ...] = ()
    right_options: tuple[str, ...] | None = None  # of the right program, if different
    rule: str = ""
    matrix_only: bool = False  # raised for many instructions; the row covers matrix instructions
    links: tuple[tuple[str, str], ...] = ()

    @property
    def raised(self) -> bool:
        """Whether a program of this project raises it."""
        return bool(self.wrong)

    @property
    def silent_options(self) -> tuple[str, ...]:
        """The options of ptxas for the right program."""
        return self.options if self.right_options is None else self.right_options

    @property
    def target(self) -> str:
        """ptxas's target for the wrong program; "" for other languages."""
        return self.architecture or _find_target(self.wrong)

    @property
    def right_target(self) -> str:
        """ptxas's target for the right program; "" for other languages."""
        return _find_target(self.right)


def _find_target(program: str) -> str:
    match = re.search(r"^\.target (\w+)", program, re.M)
    return match[1] if match else ""


def compile_text(text: str) -> re.Pattern[str]:
    """Return the pattern of a text, with a group per placeholder, for input with single spaces.

    >>> compile_text("Insufficient registers ({n})").search("fatal: Insufficient registers (64) to compile")["n"]
    '64'
    """
    parts: list[str] = []
    end, seen = 0, set[str]()
    for match in _PLACEHOLDER.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        closing = text[match.end() : match.end() + 1]
        value = rf"[^{re.escape(closing)}]" if closing in ("'", ")", "]") else r"\S"
        name = "" if match[1] in seen else f"?P<{match[1]}>"
        parts.append(f"({name}{value}{{1,{LONGEST_VALUE}}}{'?' if closing else ''})")
        seen.add(match[1])
        end = match.end()
    tail = text[end:]
    pattern = "".join([*parts, re.escape(tail)]).replace("\\ ", " ")
    before = r"(?<![\w:])" if text[0].isalnum() else ""
    after = r"(?!\w)" if tail and tail[-1].isalnum() else ""
    return re.compile(f"{before}{pattern}{after}")
