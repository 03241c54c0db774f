"""Find the modules of CUDA code that a Python file has in strings, as for torch.utils.cpp_extension.load_inline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lanescope.cxx.source_text import blank, blank_comments_and_literals, is_kernel_head

Span = tuple[int, int]
_TOKEN = re.compile(
    r"""#[^\n]*|(?P<prefix>\b[rRbBuUfF]{1,2})?(?P<mark>\"{3}|'{3})(?P<code>.*?)(?<!\\)(?P=mark)"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.S,
)
_CODE = re.compile(r"^[ \t]*#[ \t]*include\b|__(?:global|device)__[^;]*\{|[;{}][ \t]*$", re.M)
_KERNEL = re.compile(r"__global__(?:\s|__\w+__\s*\((?:[^()]|\([^()]*\))*\)|[\w:*&<>]+\s)*?\s(?P<name>\w+)\s*\(")
_ESCAPED = re.compile(r"""\\([\\"'])""")
_LAUNCH = re.compile(r"<<<|\bcudaLaunchKernel|\bcuLaunchKernel")
_OTHER = re.compile(r"^[ \t]*@(?:cute|triton|gluon)\.\w*jit|^[ \t]*@cute\.kernel", re.M)
_MOST_MODULES = 8


def list_module_texts(text: str) -> list[str]:
    """Return the text of each module of CUDA code in a Python file, with all else blanked; [] if its Python is needed:
    to fill in an f-string, to launch, or as a kernel of another compiler.

    Strings that define the same kernel belong to different modules, each with the strings that all of them need.

    >>> list_module_texts("a = '''__global__ void f() {}\\nvoid g() { f<<<1, 32>>>(); }''' # b")
    ['       __global__ void f() {}\\nvoid g() { f<<<1, 32>>>(); }       ']
    """
    if not is_kernel_head(text) or _OTHER.search(text):
        return []
    strings = [match for match in _TOKEN.finditer(text) if match["mark"] and _CODE.search(match["code"])]
    if any("f" in (match["prefix"] or "").lower() for match in strings):
        return []
    text = _unescape_strings(text, strings)
    spans = list(_list_modules([match.span("code") for match in strings], text))
    texts = [_keep_spans(text, module) for module in spans]
    complete = all(is_kernel_head(module) and _LAUNCH.search(module) for module in texts)
    return texts if complete and len(texts) <= _MOST_MODULES else []


def _unescape_strings(text: str, strings: list[re.Match[str]]) -> str:
    """Return a text of the same length with what strings that are not raw spell: `\\\\n` is `\\n` in CUDA's code."""
    for match in strings:
        if "r" not in (match["prefix"] or "").lower():
            first, past = match.span("code")
            text = text[:first] + _ESCAPED.sub(r" \1", match["code"]) + text[past:]
    return text


def _list_modules(strings: list[Span], text: str) -> Iterator[list[Span]]:
    """Yield the strings of each module."""
    kernels = [{m["name"] for m in _KERNEL.finditer(blank_comments_and_literals(text[slice(*one)]))} for one in strings]
    count = Counter(name for names in kernels for name in names)
    repeated = {name for name, number in count.items() if number > 1}
    common = [one for one, names in zip(strings, kernels, strict=True) if not names & repeated]
    others = [one for one in strings if one not in common]
    for other in others:
        yield sorted([*common, other])
    if not others:
        yield common


def _keep_spans(text: str, spans: list[Span]) -> str:
    """Return a text in which all but these spans is blanked."""
    parts, at = list[str](), 0
    for first, past in spans:
        parts += [blank(text[at:first]), text[first:past]]
        at = past
    return "".join([*parts, blank(text[at:])])
