"""Where a store of D gets its row or column from, and a copy its coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.tile_trace import BoxMove
from lanescope.workbench.products.product_origins import LoadedBox, SumOrigin, is_in_panels
from lanescope.workbench.repair.blamed_numbers import list_local_values
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_enclosing_function, find_functions

_WORD = re.compile(r"[A-Za-z_]\w*")
_BLOCK = re.compile(r"blockIdx|ctaid|\bbid\b|block|tile|gridDim")
_GROUP = re.compile(r"threadIdx|\bw\w*g\w*\b|cons\w*|group", re.I)
_PREFETCH = re.compile(r"\w*prefetch\w*\s*(?:<[^<>;]*>\s*)?\([^;]*;")
_FORMS = {
    "block": _BLOCK,
    "split": re.compile(r"blockIdx\s*\.\s*z|ctaid\.z|split|slice|blockIdx", re.I),
    "batch": re.compile(r"blockIdx\s*\.\s*z|ctaid\.z|batch|head|expert|\bb?z\b", re.I),
}
_MOST = 4  # definitions that lead from one to the next


def find_coordinate_site(box: LoadedBox, number: int) -> Span:
    """Return where the coordinate of a box is given that moves along a dimension of the tensor with joined panels."""
    sites = box.move.sites
    if is_in_panels(box.map) and number == 0:
        number = 2
    return sites[number] if number < len(sites) else box.move.site


def find_other_map(total: SumOrigin) -> Pitfall | None:
    """Return the finding of a product of two tiles of one matrix in a kernel that has the map of another one, and does
    not use it.
    """
    a, b = total.boxes
    if a.map is not b.map:
        return None
    run = total.finder.run
    blank = blank_text(run.text)
    function = next((one for one in find_functions(blank) if one.name == run.kernel), None)
    if function is None:
        return None
    body = _PREFETCH.sub("", blank[slice(*function.body)])
    head = blank[: function.body[0]].rpartition(function.name)[2]
    names = re.findall(r"CUtensorMap\s*[&*]?\s*(?:const\s+)?(\w+)", head)
    unused = [name for name in names if not re.search(rf"\b{name}\b", body)]
    if len(unused) != 1:
        return None
    message = f"A and B are loaded by one tensor map, and nothing is loaded by {unused[0]}."
    return Pitfall("tma_map_other", message, b.move.site)


def find_store_place(text: str, site: Span, box: BoxMove | None, depends: str, outer: int) -> Span:
    """Return the place of a store's wrong term. depends: what the distance differs by; outer: 0 if the coordinate that
    is wrong is the outer one of the matrix, else 1.
    """
    if box is not None:
        number = len(box.sites) - 1 if outer and len(box.sites) == 3 else (0 if outer else 1)
        return box.sites[number] if number < len(box.sites) else site
    return find_defining_place(text, site, depends)


def find_defining_place(text: str, site: Span, depends: str) -> Span:
    """Return the definition of a variable of an expression that multiplies what a number depends on, else the
    expression.
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, site[0])
    if function is None:
        return site
    values = list(_list_definitions(blank, function, site))
    form = _FORMS.get(depends, _GROUP)
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
