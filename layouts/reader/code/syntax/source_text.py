"""Recognise the language of a text, blank its lines that are not code, and rewrite Rust integers in C."""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.cxx.source_text import blank_matches

# Lines that are not code and would confuse the parser: bare PTX and SASS, lone atoms, CuTe layouts, output of a
# debugger and of printf.
_PRINTED = re.compile(
    r"^[ \t]*+(?:(?:wgmma|mma|wmma|ldmatrix|stmatrix)\.[\w.:]++[^;\n\"]*+;?|SM\d{2,3}_\w+(?:<[^;\n]{0,120}>)?"
    r"|\((?:cuda-)?gdb\)[^\n]*+|\$\d{1,6} = [^;\n]*+|(?:/\*\w{4,6}\*/[ \t]*+)?(?:@!?U?P\w+ )?[A-Z]{1,3}MMA\.[^\n]*+"
    r"|(?:[\w. \[\]()*]{1,40}[:=]? {0,40})?(?:Sw|Swizzle|S)<\d[^;:\n]*+:[^;\n]*+"
    r"|(?:[\w. ]{1,40}: {0,40})?\([\d_,() ]{1,200}\):\([\d_,() ]{1,200}\)"
    r"|(?:[A-Za-z_][\w .\[\]]{0,40}[ :])?(?:0x[0-9a-fA-F]{9,16}[ \t,]{0,8})+)[ \t\r]*+$",
    re.M,
)
_PRINT = re.compile(
    r"mma\.|matrix\.|^[ \t]*SM\d\d|gdb\)|^[ \t]*\$\d|MMA\.|S(?:w|wizzle)?<\d|\):\(|0x[0-9a-fA-F]{9}", re.M
)
_RUST = re.compile(r"\blet (?:mut )?\w+(?:: u64)? =|\d_?u64\b|\bas u64\b")


@lru_cache(maxsize=8)
def is_python(text: str) -> bool:
    """Return whether a text is Python rather than C++."""
    score = 0
    # strip the lines: a run of blanks would make each pattern quadratic
    head = re.sub(r"\n{3,}", "\n\n", "\n".join(map(str.strip, text[:8192].split("\n"))))
    for pattern, weight in (
        (r"^\s*(?:def|class)\s+\w+[^;{]*:\s*(?:#.*)?$", 3),
        (r"^\s*(?:from\s+[\w.]+\s+)?import\s+[\w.]", 3),
        (r"^\s*(?:if|for|while|elif|else|with)\b[^;{]*:\s*(?:#.*)?$", 2),
        (r"^\s*#\s?[^\s!#]", 1),
        (r"\bself\.", 1),
        (r"^\s*@\w", 2),
        (r"\bNone\b|\bTrue\b|\bFalse\b|\bnot in\b", 1),
        (r"\w\s*=\s*\[[^;]*\]\s*$", 2),
        (r"\b\w+=[\[(]", 2),
        (r"\b(?:tl|torch|triton|gl|np|ctypes)\.", 2),
        (r"^\s*[\w.]+\s*(?:\||<<|\+)?=[^=;{]*[^;{},\s]\s*$", 1),
        (r";\s*(?://.*)?$", -2),
        (r"^\s*#\s*(?:include|define|if|ifdef|pragma|endif)\b", -4),
        (r"//|/\*", -1),
        (r"\b(?:uint\d+_t|__device__|constexpr|template|static_cast|reinterpret_cast|auto|void|unsigned)\b", -2),
        (r"^\s*[{}]\s*$|\{\s*$", -1),
        (r"::\w", -1),
        (r"\d(?:u?ll|ULL)\b", -2),
        (r"->", -1),
    ):
        score += weight * len(re.findall(pattern, head, re.M))
    return score > 0


@lru_cache(maxsize=8)
def blank_printed(text: str) -> str:
    """Blank the lines of a text that are printed output; only lines with a hint of output are examined."""
    result: list[str] = []
    copied = 0
    for hint in _PRINT.finditer(text):
        if hint.start() < copied:
            continue
        first = text.rfind("\n", copied, hint.start()) + 1 or copied
        past = text.find("\n", first)
        past = len(text) if past < 0 else past + 1
        line = text[first:past]
        result += text[copied:first], blank_matches(_PRINTED, line)
        copied = past
    return "".join((*result, text[copied:]))


def convert_rust(text: str) -> str:
    """Rewrite Rust integers in C, keeping the length: `let d: u64 = 64u64 << 32 | x as u64`."""
    if "u64" not in text or not _RUST.search(text):
        return text
    text = re.sub(r"\blet(?: mut)? (\w+): u64(?= =)", lambda match: f"u64 {match[1]}".ljust(len(match[0])), text)
    text = re.sub(
        r"(?<![\w.])(0x[0-9a-fA-F_]+|\d[\d_]*)_?u64\b",
        lambda match: f"{match[1].replace('_', '')}ull".ljust(len(match[0])),
        text,
    )
    text = re.sub(r"(?<![\w.])(\d+)( as u64)\b", r"\1ull    ", text)
    return re.sub(r"(?<=[\w)]) as u(?:64|32|size)\b", lambda match: " " * len(match[0]), text)
