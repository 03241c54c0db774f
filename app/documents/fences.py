"""Fences ```lanescope and words {word}`0x… <tile>` in Markdown, with their line numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lanescope.errors import LayoutError

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>.*)$")
_OPTION = re.compile(r"\s*:([A-Za-z_][\w-]*):[ \t]*(.*)$")
_WORD = re.compile(r"(?<![\\`])\{word\}`([^`]+)`(?!`)")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
_CONTAINER = re.compile(r"[ \t]*(?:[-*+]|\d+[.)]|!!!|\?\?\?\+?|===\+?|:|\[\^[^\]]+\]:)(?:[ \t]|$)")
_CODE_INDENT = 4  # columns that make a line code, from where the text around it begins


@dataclass(frozen=True, slots=True)
class Fence:
    """A picture that a fence requests: its text and options."""

    text: str
    options: dict[str, str] = field(default_factory=dict)


Check = Callable[[str, int], str]  # the replacement of a word, and its line
Draw = Callable[
    [str, list[str], int], str
]  # the replacement of a fence: text after `lanescope`, lines inside, its line


def replace_fences(markdown: str, draw: Draw, check: Check) -> str:
    """Replace every fence ```lanescope by the result of `draw`, and every word by that of `check`.

    Both get the line number, from 1. Other fences and code stay unchanged. A word may continue in the next line.
    """
    lines, out, at = markdown.split("\n"), [], 0
    code_indent: int | None = None
    while at < len(lines):
        if not lines[at].strip() or (code_indent is not None and _measure_indent(lines[at]) >= code_indent):
            out.append(lines[at])
            at += 1
            continue
        code_indent = _find_code_indent(lines, at)
        if code_indent is not None:
            continue
        opening = _FENCE.match(lines[at])
        if not opening:
            end = _find_paragraph_end(lines, at)
            out.append(_replace_words("\n".join(lines[at : end + 1]), at + 1, check))
            at = end + 1
            continue
        end = _find_end(lines, at, opening["mark"])
        words = opening["info"].split(None, 1)
        if words[:1] in (["lanescope"], ["{lanescope}"]):
            argument = words[1] if len(words) > 1 else ""
            out += ["", opening["indent"] + draw(argument, lines[at + 1 : end], at + 1), ""]
        else:
            out += lines[at : end + 1]
        at = end + 1
    return "\n".join(out)


def _find_end(lines: list[str], start: int, mark: str) -> int:
    """Return the line that closes a fence, or the one past the last."""
    closing = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    return next((n for n in range(start + 1, len(lines)) if closing.match(lines[n])), len(lines))


def _find_paragraph_end(lines: list[str], start: int) -> int:
    """Return the last line of the text that begins at a line: up to a blank line or a fence."""
    ends = (n - 1 for n in range(start + 1, len(lines)) if not lines[n].strip() or _FENCE.match(lines[n]))
    return next(ends, len(lines) - 1)


def _find_code_indent(lines: list[str], at: int) -> int | None:
    """Return the indent from which on lines are code, if a line begins such a block: behind a blank line, and indented
    from the text around it.
    """
    indent, needed = _measure_indent(lines[at]), _CODE_INDENT
    if indent < needed or (at and lines[at - 1].strip()):
        return None
    for line in reversed(lines[:at]):
        if line.strip() and (outer := _measure_indent(line)) < indent:
            if _CONTAINER.match(line):
                needed = outer + 2 * _CODE_INDENT
            if needed > _CODE_INDENT or outer < _CODE_INDENT:
                break
            indent = outer
    return needed if _measure_indent(lines[at]) >= needed else None


def _measure_indent(line: str) -> int:
    spread = line.expandtabs(_CODE_INDENT)
    return len(spread) - len(spread.lstrip(" "))


def parse_fence(argument: str, body: list[str]) -> Fence:
    """Return the request of a fence: `:name: value` lines are options; the text follows the word lanescope, or the
    options.
    """
    options: dict[str, str] = {}
    text: list[str] = []
    for line in body:
        option = _OPTION.match(line)
        if option and (text or option[1] in options):
            problem = "follows the text" if text else "occurs twice"
            raise LayoutError("bad_figure", f"Option '{option[1]}' {problem}.", "Options first, each once.")
        if option:
            options[option[1]] = option[2].strip() or "1"
        elif line.strip() or text:
            text.append(line)
    if argument.strip() and any(line.strip() for line in text):
        raise LayoutError("bad_figure", "The picture is named twice.", "Behind lanescope, or below the options.")
    return Fence(argument.strip() or "\n".join(text).strip(), options)


def _replace_words(text: str, number: int, check: Check) -> str:
    """Return a paragraph with its words checked; code spans are unchanged."""
    if "{word}`" not in text:
        return text
    out, at = "", 0
    while at < len(text):
        word, code = _WORD.search(text, at), _CODE.search(text, at)
        if word and (not code or word.start() < code.start()):
            out += text[at : word.start()] + check(word[1], number + text.count("\n", 0, word.start()))
            at = word.end()
        elif code:
            out += text[at : code.end()]
            at = code.end()
        else:
            break
    return out + text[at:]
