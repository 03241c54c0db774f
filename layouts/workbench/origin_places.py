"""Where a store of D gets its row or column from, and which operand of a sum takes a slice along K twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.tile_trace import BoxMove, TileProduct
from lanescope.workbench.blamed_numbers import find_argument_span, list_local_values
from lanescope.workbench.function_texts import FunctionText, blank_text, find_function_at, find_functions
from lanescope.workbench.product_origins import SumOrigin
from lanescope.workbench.results import Span

_WORD = re.compile(r"[A-Za-z_]\w*")
_BLOCK = re.compile(r"blockIdx|ctaid|\bbid\b|block|tile|gridDim")
_GROUP = re.compile(r"threadIdx|\bw\w*g\w*\b|cons\w*|group", re.I)
_ARGUMENTS = 3  # of a call that multiplies: D, A and B
_MOST = 4  # definitions that lead from one to the next


def find_repeated_slice(total: SumOrigin, text: str) -> Pitfall | None:
    """Return the finding of an operand that takes a K slice twice for one D, each time with another one of the other
    operand.
    """
    a, b = total.list_slices(0), total.list_slices(1)
    if a is None or b is None or len(set(zip(a, b, strict=True))) < len(total.k):
        return None
    counts = len(set(a)), len(set(b))
    if counts[0] == counts[1] or max(counts) < len(total.k):
        return None
    side = 0 if counts[0] < counts[1] else 1
    mine, others = (a, b) if side == 0 else (b, a)
    again = next(n for n, k in enumerate(mine) if k in mine[:n])
    first = mine.index(mine[again])
    name, product = "AB"[side], total.products[again]
    message = (
        f"{name} takes the slice at K = {mine[again]} twice for the same D, with the slices of {'BA'[side]} at"
        f" K = {others[first]} and {others[again]}: both must come from the same stage."
    )
    return Pitfall("k_slice_repeated", message, _find_operand(text, product, name.lower()))


def _find_operand(text: str, product: TileProduct, name: str) -> Span:
    """Return the argument of the kernel's call of a product that gives an operand: multiply(d, a, b)."""
    if not product.calls:
        return product.sites[name]
    number = 1 if name == "a" else 2
    blank, call = blank_text(text), product.calls[0]
    last = find_argument_span(blank, call, _ARGUMENTS)
    return (find_argument_span(blank, call, number) if last is None else None) or call


def find_store_place(text: str, site: Span, box: BoxMove | None, depends: str, outer: int) -> Span:
    """Return the place of a store's wrong term. depends: what the distance differs by; outer: 0 if the coordinate that
    is wrong is the outer one of the matrix, else 1.
    """
    if box is not None:
        number = len(box.sites) - 1 if outer and len(box.sites) == 3 else (0 if outer else 1)
        return box.sites[number] if number < len(box.sites) else site
    blank = blank_text(text)
    function = find_function_at(find_functions(blank), site[0])
    if function is None:
        return site
    values = list(_list_definitions(blank, function, site))
    form = _BLOCK if depends == "block" else _GROUP
    fitting = [at for at in values if form.search(blank[slice(*at)]) and "*" in blank[slice(*at)]]
    return fitting[0] if fitting else site


def _list_definitions(blank: str, function: FunctionText, site: Span) -> Iterator[Span]:
    """Yield the values of the variables of an address, from the nearest on; also those in macros that it uses."""
    seen: set[str] = set()
    queue = [(site, 0)]
    while queue:
        at, depth = queue.pop(0)
        words = _WORD.findall(blank[slice(*at)])
        for word in words:
            if word in seen:
                continue
            seen.add(word)
            macro = re.search(rf"#[ \t]*define[ \t]+{word}\b[^\n]*", blank)
            if macro:
                queue.append((macro.span(), depth))
                continue
            for value in list_local_values(blank, function, word, site):
                line = blank.rfind("\n", 0, value[0]) + 1, blank.find(";", value[1])
                whole = value if blank[value[0] : value[0] + len(word)] != word else (value[0], line[1])
                yield whole
                if depth < _MOST:
                    queue.append((whole, depth + 1))
