"""Elements of D that are combined with those of other rows, or read without order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.products.origin_places import find_coordinate_site, find_lane_variable
from lanescope.workbench.products.product_origins import OriginFinder, SumOrigin
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.loop_texts import find_place_between


def find_unlike_parts(finders: Sequence[OriginFinder]) -> Pitfall | None:
    """Return the finding of two products whose elements are combined although they are of other rows or columns, in
    some blocks.
    """
    seen: dict[tuple[int, int], tuple[set[int], SumOrigin]] = {}
    for finder in finders:
        for one, other in finder.run.joined:
            pair = [finder.find_sum(-record - 1, finder.find_first_warp(-other - 1)) for record in (one, other)]
            if pair[0] is None or pair[1] is None:
                continue
            for n, (mine, theirs) in enumerate(((pair[0].rows, pair[1].rows), (pair[0].columns, pair[1].columns))):
                if pair[0].boxes[n].map is not pair[1].boxes[n].map and len(mine) == len(theirs):
                    seen.setdefault((other, n), (set(), pair[1]))[0].update(np.unique(theirs - mine).tolist())
    for (_, n), (away, total) in seen.items():
        if len(away) > 1:
            message = (
                f"This copy brings other rows of {'AB'[n]} than that of the product whose elements are combined with"
                " those of this one: in some blocks they are the same."
            )
            site = find_coordinate_site(total.boxes[n], total.numbers[n])
            return Pitfall("row_coordinate_wrong", message, site)
    return None


_UNORDERED = {
    "bulk_barrier_missing": "This copy reads elements of D that other warps have stored to shared memory, without a"
    " barrier between.",
    "barrier_missing": "This reads elements of D that another warp has stored to shared memory, without a barrier"
    " between.",
    "proxy_fence_missing": "This copy reads what threads have stored to shared memory through the async proxy, without"
    " a fence.proxy.async between.",
}


def find_unordered(finder: OriginFinder) -> Pitfall | None:
    """Return the finding of elements of D in shared memory that nothing orders with their read."""
    found = finder.trace.order.unordered.items()
    return next((Pitfall(code, _UNORDERED[code], _find_place(finder, site)) for code, site in found), None)


def find_replaced(finder: OriginFinder) -> Pitfall | None:
    """Return the finding of elements of D that a thread stores to bytes of shared memory over those of another one."""
    site = finder.trace.order.replaced
    if site is None or finder.trace.staged.latest is not None:
        return None
    message = (
        "Threads store elements of D to the same bytes of shared memory, without a barrier or a read between: only one"
        " of them stays. Check the distance of their rows."
    )
    place = finder.run.find_own_place(site)
    return Pitfall("result_misplaced", message, find_lane_variable(finder.run.text, place))


def _find_place(finder: OriginFinder, read: Span) -> Span:
    """Return where all threads come between the last store of elements of D in the text before a read, and the read;
    the read itself if no store of its function is before it.
    """
    place, blank = finder.run.find_own_place(read), blank_text(finder.run.text)
    function = find_enclosing_function(blank, place[0])
    stores = (site for of_record in finder.trace.staged.sites.values() for site in of_record)
    before = max((site for site in stores if site[1] <= place[0]), default=None)
    if function is None or before is None or before[0] < function.body[0]:
        return place
    start = find_place_between(blank, function, before, place)
    return start, start + 1
