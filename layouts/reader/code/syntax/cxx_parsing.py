"""tree-sitter's parser of CUDA C++, with a bound on its work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from lanescope.deadline import OverdueError, check_deadline, note_reading_place
from lanescope.reader.code.syntax.nodes import require_parser
from lanescope.reader.code.syntax.source import ParsedSource

if TYPE_CHECKING:
    import tree_sitter

MOST_PROGRESS = 900  # calls of the parser's progress function that any text may take …
MOST_OPEN = 1500  # nested braces: error recovery from more unclosed ones blocks the parser for seconds
_COMMA_LEFT_OUT = re.compile(rb'\)\s(?=\s*"[=+&%]{0,3}[A-Za-z]"\s*\()')  # between operands of asm: nvcc reads on
# k < size<2>(tile), which the grammar reads as a call of the template k; as k > size<2>(tile) it reads a comparison
_LESS_THAN_CALL = re.compile(
    rb"([\w)\]]\s|;\s*\w+)<(?=\s?(?:\w+::)*\w+<[^<>;(){}]*>\((?:[^();{}]|\([^();{}]*\))*\)\s*[;)&|?+*/%=!-])"
)
# typename of a dependent type, which the grammar does not read before T::type{} in an expression
_TYPENAME = re.compile(rb"(?<=[(,={])(\s*)typename(?=\s+\w+\s*(?:<|::))|(?<=\breturn )()typename(?=\s+\w+\s*(?:<|::))")
# the compiler's own bit_cast, whose type the grammar does not read as an argument
_BIT_CAST = re.compile(rb"__builtin_bit_cast\(((?:\w+::)*\w+(?: \w+)*),(?: |(?=\w+\)))")
# unsigned(x) and unsigned{x}, which the grammar reads as a declaration in a list
_UNSIGNED = re.compile(rb"(?<![\w:.>])(?<!\blong )(?<!\bshort )(?<!\bchar )unsigned(?=[({])")
# operator++() as a statement, which the grammar reads as a declaration: it is a call of the object's own function
_OWN_STEP = re.compile(rb"([;{}]\s*(?:return )?operator)(?:\+\+|--)(?=\()")
PROGRESS_PER_KB = 40  # … plus so many per 1,000 characters; CUTLASS's headers take 4 to 10


def _insert_comma(found: re.Match[bytes]) -> bytes:
    """Return a closing parenthesis with a comma instead of the blank after it, except in a // comment."""
    line = found.string[found.string.rfind(b"\n", 0, found.start()) + 1 : found.start()]
    return found[0] if b"//" in line else b"),"


def _write_bit_cast(found: re.Match[bytes]) -> bytes:
    """Return the beginning of a bit_cast<T>(value) as long as the text, of a cast (T)value without a blank."""
    if found[0].endswith(b" "):
        return b" " * 10 + b"bit_cast<" + found[1] + b">("
    return b" " * 17 + b"((" + found[1] + b")"


@cache
def load_cuda_language() -> tree_sitter.Language:
    with require_parser():
        import tree_sitter
        import tree_sitter_cuda

    return tree_sitter.Language(tree_sitter_cuda.language())


def parse_bounded(
    language: tree_sitter.Language, source: ParsedSource, ranges: Sequence[tree_sitter.Range] = ()
) -> tree_sitter.Node | None:
    """Parse a text, or only some ranges of it; None if that exceeds the bound, which no real kernel does.

    Each call makes its own parser (a microsecond): the callbacks let other threads run, and two threads in one parser
    crash the process.
    """
    import tree_sitter

    parser = tree_sitter.Parser(language)
    if ranges:
        parser.included_ranges = list(ranges)
    length = sum(part.end_byte - part.start_byte for part in ranges) or len(source.text)
    data = source.text.encode("ascii", "replace").replace(b"->*", b" .*")  # which the grammar lacks
    data = _LESS_THAN_CALL.sub(rb"\1>", _COMMA_LEFT_OUT.sub(_insert_comma, data))
    data = _UNSIGNED.sub(b"uint32_t", data)
    data = _BIT_CAST.sub(_write_bit_cast, data)
    data = _OWN_STEP.sub(rb"\1__", data)
    data = _TYPENAME.sub(lambda found: found[0].replace(b"typename", b" " * 8), data)
    if _measure_depth(data) > MOST_OPEN:
        return None
    calls = 0
    most = MOST_PROGRESS + PROGRESS_PER_KB * length // 1000

    def stop(offset: int, error: bool) -> bool:
        nonlocal calls
        try:
            check_deadline()
        except OverdueError:
            with note_reading_place(lambda: source.get_original(offset, offset + 1)[0]):
                raise
        calls += 1
        return calls > most

    try:
        return parser.parse(lambda at, _: data[at : at + (1 << 16)], progress_callback=stop).root_node
    except ValueError:
        return None


def _measure_depth(data: bytes) -> int:
    """Return the greatest nesting of braces."""
    if data.count(b"{") <= MOST_OPEN:
        return 0
    steps = (1 if match[0] == b"{" else -1 for match in re.finditer(rb"[{}]", data))
    return max(accumulate(steps), default=0)
