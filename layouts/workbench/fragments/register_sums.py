"""Find accumulators of mma.sync that nothing sets before the first product, and those that every turn sets to 0."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.kernels.accumulator_resets import ProductSite, ResetSearch, trace_product
from lanescope.workbench.products.stored_elements import TilePlaces, list_pieces
from lanescope.workbench.results import CheckFinding, Span, make_finding
from lanescope.workbench.text.function_texts import blank_text

_MOST_BYTES = 1 << 12  # of the registers of D of one thread


def find_sum_mistakes(runner: KernelRunner) -> Iterator[CheckFinding]:
    """Yield mistakes of the sums of a kernel that was run to its end."""
    blank = blank_text(runner.text)
    search = ResetSearch(runner.text, blank)
    sites: dict[tuple[Span, tuple[Span, ...]], ProductSite | None] = {}
    unset: dict[tuple[Span, tuple[Span, ...]], None] = {}
    for use in runner.products:
        key = use.span, use.calls
        if key not in sites:
            sites[key] = trace_product(runner.text, blank, use.span, use.calls)
        if (use.adds_unset or use.fragments) and not runner.shared.broken:
            unset.setdefault(key)
    stored = set(_list_stored_unset(runner)) if unset else set()
    known = [site for site in sites.values() if site is not None]
    yield from map(make_finding, search.find_set_to_zero(known))
    found = (_find_unset(blank, site, key in stored) for key in unset if (site := sites[key]) is not None)
    yield from (one for one in found if one is not None)


def _find_unset(blank: str, site: ProductSite, stored: bool) -> CheckFinding | None:
    """Return the finding of accumulators that nothing sets before a product, or, if all of D is stored, not all."""
    name, declared = site.frames[0].name, _find_bare_declaration(blank, site)
    if declared is not None:
        message = (
            f"{name} is not set before the first mma: D = A·B + C adds to registers that nothing has written. Set"
            f" {name} to 0."
        )
        return CheckFinding("accumulator_unset", message, declared)
    place = _find_last_value(blank, site) if stored else None
    message = f"{name} is set in part only: D = A·B + C adds to registers that nothing has written, and D is stored."
    return CheckFinding("accumulator_unset", message, place) if place is not None else None


def _find_bare_declaration(blank: str, site: ProductSite) -> Span | None:
    """Return the declaration of accumulators without a value, if nothing mentions them before the product."""
    outer = site.frames[0]
    mentions = list(re.compile(rf"\b{outer.name}\b").finditer(blank, outer.function.body[0], outer.at[0]))
    bare = re.compile(r"\s*(?:\[[^\]]*\]\s*)*[;,]")
    if len(mentions) != 1 or not bare.match(blank, mentions[0].end()):
        return None
    for frame in site.frames[1:]:
        if re.compile(rf"\b{frame.name}\b").search(blank, frame.function.body[0], frame.at[0]):
            return None
    return mentions[0].span()


def _list_stored_unset(runner: KernelRunner) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yield (place, calls) of the products that begin a sum with registers that nothing has written, if threads store
    all elements of the sum.
    """
    places, elements = TilePlaces(runner), dict[int, set[int]]()
    for store in runner.outputs:
        for one in list_pieces(store):
            elements.setdefault(one.record, set()).update((one.thread * _MOST_BYTES + one.byte).tolist())
    for record, stored in elements.items():
        use, instruction = runner.results[-record - 1].use, places.find_instruction(record)
        first = use
        while first is not None and first.adds is not None:
            first = first.adds
        if use is None or first is None or instruction is None or not first.adds_unset:
            continue
        if len(stored) == np.count_nonzero(use.active) * np.shape(instruction.operand("d").coords["row"])[1]:
            yield first.span, first.calls


def _find_last_value(blank: str, site: ProductSite) -> Span | None:
    """Return the last statement before a product that gives accumulators a value; None if there is none."""
    outer = site.frames[0]
    given = re.compile(rf"[^;{{}}]*\b{outer.name}\b[^;{{}}=]*=[^=][^;{{}}]*")
    found = list(given.finditer(blank, outer.function.body[0], outer.at[0]))
    return (found[-1].start() + len(found[-1][0]) - len(found[-1][0].lstrip()), found[-1].end()) if found else None
