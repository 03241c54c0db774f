"""Markdown with fences ```lanescope and words {word}`0x… <tile>`: what they become, by the line they stand in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lanescope.errors import LayoutError

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>.*)$")
_OPTION = re.compile(r"\s*:([A-Za-z_][\w-]*):[ \t]*(.*)$")
_WORD = re.compile(r"(?<![\\`])\{word\}`([^`\n]+)`(?!`)")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Fence:
    """A picture that a fence asks for: its text and options."""

    text: str
    options: dict[str, str] = field(default_factory=dict)


Check = Callable[[str, int], str]  # what a word becomes, at its line
Draw = Callable[[str, list[str], int], str]  # what a fence becomes: behind `lanescope`, the lines inside, its line


def replace_fences(markdown: str, draw: Draw, check: Check) -> str:
    """Return Markdown in which every fence ```lanescope is what `draw` makes of it, every word what `check` makes.

    Both get the line, from 1 on. Other fences and code are left as they are.
    """
    lines, out, at = markdown.split("\n"), [], 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if not opening:
            out.append(_replace_words(lines[at], at + 1, check))
            at += 1
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
    """Return the line that closes a fence, or the last one."""
    closing = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    return next((n for n in range(start + 1, len(lines)) if closing.match(lines[n])), len(lines) - 1)


def parse_fence(argument: str, body: list[str]) -> Fence:
    """Return what a fence asks for: `:name: value` lines are options; the text follows the word lanescope, or them."""
    options: dict[str, str] = {}
    text: list[str] = []
    for line in body:
        option = _OPTION.match(line)
        if option and not text:
            options[option[1]] = option[2].strip() or "1"
        elif line.strip() or text:
            text.append(line)
    if argument.strip() and any(line.strip() for line in text):
        raise LayoutError("bad_figure", "The picture is named twice.", "Behind lanescope, or below the options.")
    return Fence(argument.strip() or "\n".join(text).strip(), options)


def _replace_words(line: str, number: int, check: Check) -> str:
    """Return a line with its words checked; what stands in code spans is left alone."""
    if "{word}`" not in line:
        return line
    out, at = "", 0
    while at < len(line):
        word, code = _WORD.search(line, at), _CODE.search(line, at)
        if word and (not code or word.start() < code.start()):
            out += line[at : word.start()] + check(word[1], number)
            at = word.end()
        elif code:
            out += line[at : code.end()]
            at = code.end()
        else:
            break
    return out + line[at:]
