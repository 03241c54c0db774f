"""Edits of a text that remove a mistake of the code itself: the number of a shift, and a cast before it.

`check.py` asks for each. As in `repairs.py`, nothing is offered that was not tried: the edited text is evaluated, and
an edit counts only where that mistake is gone and no other has come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.repairs import apply_edits
from lanescope.workbench.results import TextEdit

_DIGITS = re.compile(r"\d+")
MOST_CHARACTERS = 1 << 18  # of a text whose edits are tried
Edits = tuple[TextEdit, ...]


def find_pitfall_edits(text: str, pitfall: Pitfall, find_codes: Callable[[str], Counter[str]]) -> Edits:
    """Find the edits that remove a mistake, () if none is known. find_codes: how often a text makes each mistake."""
    if len(text) > MOST_CHARACTERS:
        return ()
    for edits in _list_edits(text, pitfall):
        before, after = find_codes(text), find_codes(apply_edits(text, edits))
        if after[pitfall.code] < before[pitfall.code] and not after - before:
            return edits
    return ()


def _list_edits(text: str, pitfall: Pitfall) -> Iterator[Edits]:
    first, past = pitfall.span
    if pitfall.code == "not_shifted" and (digits := _DIGITS.match(text, first, past)):
        yield (TextEdit(digits.span(), "4"),)
    elif pitfall.code == "shifts_of_32_bits":
        yield (TextEdit((first, first), "(uint64_t)"),)
