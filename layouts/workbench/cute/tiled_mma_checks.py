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
_MADE = re.compile(r"\b(?:make_tiled_mma\s*\(|TiledMMA\s*<)")


def check_tiled_mmas(text: str) -> list[Pitfall]:
    """Check the TiledMMAs of a text whose atom, atom layout and permutation it determines."""
    if not _MADE.search(text):
        return []
    home = terms.make_term_text(text)
    found: list[Pitfall] = []
    for n, term in enumerate(terms.find_terms(home, _MADE)):
        if n >= MOST:
            break
        meaning = parse_tiled_mma(home, term)
        body = meaning.facts.get("body", {}) if meaning else {}
        if all(body.get(name) for name in ("atom", "atom_layout", "permutation")) and "umma" not in body:
            found += _check_body(body, term)
    return found


def _check_body(body: dict[str, Any], term: SyntaxTerm) -> Iterator[Pitfall]:
    third = _find_permutation(term)
    span = third.span if isinstance(third, SyntaxTerm) else term.span
    try:
        tiled = tiled_mma(body["atom"], body["atom_layout"], body["permutation"])
    except LayoutError as error:
        if error.code in REFUSED:
            yield Pitfall("tiled_mma_refused", f"{error.message} {error.hint}", span)
        return
    for note in list_coverage_notes(tiled):
        modes = third.angle if isinstance(third, SyntaxTerm) and third.angle else third.args if third else ()
        wrong = [
            n
            for n, (mode_size, covered_size) in enumerate(zip(tiled.shape, compute_covered_tile(tiled), strict=True))
            if mode_size != covered_size
        ]
        mode = modes[wrong[0]] if modes and wrong and wrong[0] < len(modes) else None
        place = mode.span if isinstance(mode, SyntaxTerm) and mode.span != (0, 0) else span
        yield Pitfall("tiled_mma_permutation", note, place)


def _find_permutation(term: SyntaxTerm) -> Any:
    arguments = (term.args if term.name == "make_tiled_mma" else term.angle) or ()
    return arguments[2] if len(arguments) > 2 else term.get_argument(9, "permutation_mnk", "permutation_tiler")
