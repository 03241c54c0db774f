"""Parse C++ and CUDA into the tree of layouts/reader/code/syntax/tree.py, with tree-sitter's CUDA grammar."""

from __future__ import annotations

import re

from lanescope.cxx.source_text import strip_comments
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import top_declarations, tree
from lanescope.reader.code.syntax.cxx_arguments import make_range
from lanescope.reader.code.syntax.cxx_parsing import load_cuda_language, parse_bounded
from lanescope.reader.code.syntax.cxx_statements import CxxLowering
from lanescope.reader.code.syntax.source import ParsedSource, make_plain_source

PART = 4000  # characters of declarations parsed together, if the text as a whole is too much work
MOST_FAILED = 32  # parts that may be too much work

_UNNAMED = re.compile(r",\s{0,99}:\s{0,99}\w{1,40}(?=\s{0,99}[,;])")
_WIDTH = re.compile(r"([;{},]\s{0,99}(?:[\w:]{1,80}\s{1,99}){0,4})(?<!:):\s{0,99}\w{1,40}(?=\s{0,99}[,;])")


def is_well_formed(source: ParsedSource) -> bool:
    """Return whether a text parses without errors."""
    root = parse_bounded(load_cuda_language(), source)
    if root is not None and root.has_error:
        root = parse_bounded(load_cuda_language(), make_plain_source(_drop_unnamed_bit_fields(source.text)))
    return root is not None and not root.has_error


def _drop_unnamed_bit_fields(text: str) -> str:
    """Return a text without unnamed bit fields, `, : 2` and `uint64_t : 2;`, which the grammar lacks."""
    return _WIDTH.sub(r"\1", _UNNAMED.sub("", strip_comments(text)))


def parse_cxx(source: ParsedSource) -> tuple[tree.Statement, ...]:
    """Parse a text into statements: definitions and lines outside functions."""
    return parse_cxx_parts(source)[0]


def parse_cxx_parts(source: ParsedSource) -> tuple[tuple[tree.Statement, ...], tuple[Span, ...]]:
    """Parse a text; return its statements, and the spans of declarations that are too much work.

    A text that is too much work as a whole is parsed in groups of declarations.
    """
    root = parse_bounded(load_cuda_language(), source)
    if root is not None:
        return tuple(CxxLowering(source).lower_statements(root)), ()
    parts: list[tree.Statement] = []
    unread: list[Span] = []
    lowering = CxxLowering(source)
    failed = 0
    for part in top_declarations.group_declarations(source.text, PART):
        ranges = [make_range(*span) for span in part.list_spans()]
        root = parse_bounded(load_cuda_language(), source, ranges) if failed < MOST_FAILED else None
        if root is None:
            failed += 1
            unread.append(source.get_original(part.start, part.end))
        else:
            parts += lowering.lower_statements(root)
    return tuple(parts), tuple(unread)
