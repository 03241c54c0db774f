"""Parse arguments one by one that the grammar misreads together: in f(g<T, Shape<A, B>, K>()) it takes < and > for
comparisons, and misses an operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanescope.cxx.source_text import split_list, trim_span
from lanescope.reader.code.syntax.cxx_parsing import load_cuda_language, parse_bounded
from lanescope.reader.code.syntax.source import ParsedSource

if TYPE_CHECKING:
    import tree_sitter

MOST_ARGUMENTS = 2000  # characters of a list


def parse_arguments(source: ParsedSource, node: tree_sitter.Node) -> list[tree_sitter.Node] | None:
    """Parse each argument of a list in parentheses as a statement; None if one is not an expression."""
    first, past = node.start_byte + 1, node.end_byte - 1
    text = source.text[first:past]
    end = source.text.find(";", past)
    if len(text) > MOST_ARGUMENTS or not {"<", ">"} <= set(text) or ";" in text or end < 0:
        return None
    places, closing = split_list(source.text, first, past)
    if closing != past:
        return None
    found = [_parse_argument(source, trim_span(source.text, place), end) for place in places]
    arguments = [argument for argument in found if argument is not None]
    return arguments if len(arguments) == len(places) else None


def _parse_argument(source: ParsedSource, place: tuple[int, int], end: int) -> tree_sitter.Node | None:
    """Parse an argument with the semicolon at `end`; None if it is not an expression."""
    root = parse_bounded(load_cuda_language(), source, [make_range(*place), make_range(end, end + 1)])
    statement = root.named_children[0] if root is not None and root.named_child_count == 1 else None
    if statement is None or statement.type != "expression_statement" or statement.has_error:
        return None
    return statement.named_children[0] if statement.named_child_count == 1 else None


def make_range(start: int, end: int) -> tree_sitter.Range:
    """Return a range of a text for parse_bounded."""
    import tree_sitter

    return tree_sitter.Range((0, start), (0, end), start, end)
