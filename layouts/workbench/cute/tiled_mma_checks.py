"""Check TiledMMAs of a source text for permutations that the atoms do not divide, as `lanescope tiles mma` does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.cute.tiled_mma import REFUSED, parse_tiled_mma
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.grammar import SyntaxTerm
from lanescope.tiles.mma import compute_covered_tile, list_coverage_notes
from lanescope.tiles.tiled_mma import tiled_mma

TITLES = {
    "tiled_mma_permutation": "The atoms do not divide the permutation of a TiledMMA",
    "tiled_mma_refused": "CuTe refuses the TiledMMA",
}
MOST = 32
_ATOM_LAYOUT, _PERMUTATION = ("atom_layout_mnk", "atom_layout"), ("permutation_mnk", "permutation_tiler")
_MADE = re.compile(r"\b(?:make_tiled_mma\s*\(|TiledMMA\s*<)")


def check_tiled_mmas(text: str) -> list[Pitfall]:
    """Check the TiledMMAs of a text whose atom, atom layout and permutation, if it has one, it determines."""
    if not _MADE.search(text):
        return []
    home = terms.make_term_text(text)
    found: list[Pitfall] = []
    for n, term in enumerate(terms.find_terms(home, _MADE)):
        if n >= MOST:
            break
        meaning = parse_tiled_mma(home, term)
        body = meaning.facts.get("body", {}) if meaning else {}
        given = _find_argument(term, 2, *_PERMUTATION) is None or body.get("permutation")
        if body.get("atom") and body.get("atom_layout") and given and "umma" not in body:
            found += _check_body(body, term)
    return found


def _check_body(body: dict[str, Any], term: SyntaxTerm) -> Iterator[Pitfall]:
    third = _find_argument(term, 2, *_PERMUTATION)
    try:
        tiled = tiled_mma(body["atom"], body["atom_layout"], body.get("permutation"))
    except LayoutError as error:
        if error.code in REFUSED:
            wrong = _find_argument(term, 1, *_ATOM_LAYOUT) if error.field == "atom_layout" else third
            yield Pitfall("tiled_mma_refused", f"{error.message} {error.hint}", _get_span(wrong, term))
        return
    modes = (third.angle or third.args or ()) if isinstance(third, SyntaxTerm) else ()
    for note in list_coverage_notes(tiled):
        sizes = zip(tiled.shape, compute_covered_tile(tiled), strict=True)
        uncovered = next((n for n, (size, covered) in enumerate(sizes) if size != covered), len(modes))
        mode = modes[uncovered] if uncovered < len(modes) else None
        yield Pitfall("tiled_mma_permutation", note, _get_span(mode, third if isinstance(third, SyntaxTerm) else term))


def _get_span(argument: Any, around: SyntaxTerm) -> tuple[int, int]:
    """Return where an argument is, or what is around it if it has no place of its own."""
    own = isinstance(argument, SyntaxTerm) and argument.span != (0, 0)
    return argument.span if own else around.span


def _find_argument(term: SyntaxTerm, n: int, *names: str) -> Any:
    """Return an argument of a TiledMMA by its place, or by one of its names."""
    arguments = (term.args if term.name == "make_tiled_mma" else term.angle) or ()
    return arguments[n] if len(arguments) > n else term.get_argument(9, *names)
