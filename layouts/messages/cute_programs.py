"""The C++ programs of CuTe's messages: statements, and the file around them."""

from __future__ import annotations

import re

from lanescope.messages.row import CUTE, MessageRow

RELEASE = "CUTLASS 4.2.0"
TENSOR = "cute/tensor.hpp"
MMA = "cute/atom/mma_atom.hpp"
_HEADERS = (  # a word in the statements → its header
    (r"\bgemm\(", "cute/algorithm/gemm.hpp"),
    (r"SM90_TMA|make_tma|get_tma", "cute/atom/copy_traits_sm90_tma.hpp"),
    (r"SM90_64|GMMA|SM80_16|SM100_|MMA_|TiledMMA|warpgroup_", MMA),
    (r"half_t|float_e4m3_t", "cutlass/numeric_types.h"),
)


def render_program(statements: str) -> str:
    """Return a file with a function that contains the statements, one per line."""
    headers = [TENSOR, *(header for word, header in _HEADERS if re.search(word, statements))]
    lines = [f"  {line.strip()}" for line in statements.strip().splitlines()]
    includes = [f"#include <{header}>" for header in headers]
    return "\n".join([*includes, "using namespace cute;", "", "void program() {", *lines, "}", ""])


def make_row(
    slug: str,
    title: str,
    texts: tuple[str, ...],
    header: str,
    *,
    reason: str,
    change: str,
    wrong: str,
    right: str,
    links: tuple[tuple[str, str], ...],
) -> MessageRow:
    """Return the row of an assertion. header: its file below include/; wrong, right: statements."""
    return MessageRow(
        slug=f"cute-{slug}",
        source=CUTE,
        title=title,
        texts=texts,
        reason=reason,
        change=change,
        wrong=render_program(wrong),
        right=render_program(right),
        place=header,
        release=RELEASE,
        links=links,
    )
