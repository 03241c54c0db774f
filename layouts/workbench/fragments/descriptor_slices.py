"""Check the K slices that wgmma and tcgen05.mma take of tiles that threads fill, as those of mma."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lanescope.ptx import catalog
from lanescope.reader.threads.memory.records import DescriptorUse, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import LocalMemory
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.operand_slices import Pair, find_slice_mistakes
from lanescope.workbench.fragments.skipped_slices import adds_result, find_gaps
from lanescope.workbench.fragments.thread_descriptors import LocatedUse, leaves_bytes_unread
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand
from lanescope.workbench.fragments.warp_coverage import split_origin
from lanescope.workbench.results import CheckFinding
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.loop_texts import list_loops_at

Product = tuple[LocatedUse, LocatedUse]


def find_descriptor_slice_mistakes(run: KernelRunner, located: Sequence[LocatedUse]) -> list[CheckFinding]:
    """Return the first mistake in the order of K slices. located: the reads of a complete run that were located.

    Of a run with other reads, such as of P of attention, the sums are checked of which all are located.
    """
    paired = list(_list_products(list(filter(_is_plain, located))))
    lost = Counter(use.sum for use in run.descriptors) - Counter(use.sum for pair in paired for use, _ in pair)
    products = [pair for pair in paired if pair[0][0].sum not in lost]
    if not products:
        return []
    sums: dict[object, MmaUse] = {}
    pairs = [_make_pair(run, product, sums) for product in products]
    found = find_slice_mistakes(run, pairs) or list(_find_other_steps(run, products))
    return found or (_find_unread(run, products, pairs) if not lost else [])


def _is_plain(located: LocatedUse) -> bool:
    """Return whether a read is of rows and columns of one array, along K in order."""
    origin = located[1]
    return origin.separable and not origin.has_rows_twice and origin.k_order == tuple(range(origin.places[0].shape[1]))


def _list_products(located: Sequence[LocatedUse]) -> Iterator[Product]:
    for a, b in pairwise(located):
        if (a[0].name, b[0].name) == ("a", "b") and _identify(a[0]) == _identify(b[0]):
            yield a, b


def _identify(use: DescriptorUse) -> object:
    return use.span, use.calls, use.turns


def _make_pair(run: KernelRunner, product: Product, sums: dict[object, MmaUse]) -> Pair:
    """Make a product of a warp of the operands. sums: the last product of each place, sum, rows and columns."""
    (a, left), (b, right) = product
    rows = [(split_origin(origin) or (origin.base, 0))[0] for origin in (left, right)]
    key = (a.span, a.calls, a.sum, *rows)
    before = sums.get(key)
    result = before.result if before is not None else (LocalMemory(), 0)
    left_register, right_register = ((RegisterUse(use.data, site=use.site),) for use in (a, b))
    use = MmaUse(a.opcode, a.span, left_register, right_register, a.calls, run.mask, a.turns, result, adds=before)
    sums[key] = use
    instruction = catalog.find(a.opcode)
    return (
        use,
        ArrivedOperand("a", instruction, left_register, (left,)),
        ArrivedOperand("b", instruction, right_register, (right,)),
    )


def _find_other_steps(run: KernelRunner, products: Sequence[Product]) -> Iterator[CheckFinding]:
    """Yield the operand that does not go on by one slice of K where the other does, and leaves bytes unread.

    Of right kernels, one operand may be read again: A that is split into a sum. All of its tile is then read.
    """
    for before, after in pairwise(products):
        same = before[0][0].span == after[0][0].span and before[0][0].sum == after[0][0].sum
        if not same or not _is_next(before[0][0].turns, after[0][0].turns):
            continue
        whole = [_goes_on(old, new) for old, new in zip(before, after, strict=True)]
        if whole in ([True, False], [False, True]):
            use = after[whole.index(False)][0]
            if leaves_bytes_unread(run, use):
                other = after[whole.index(True)][0].name.upper()
                message = (
                    f"{use.name.upper()} of {use.opcode} does not go on to the next slice of K here, and {other} does:"
                    f" a part of the tile of {use.name.upper()} is never read."
                )
                yield CheckFinding("k_step_differs", message, use.site)
                return


def _is_next(earlier: Sequence[int], later: Sequence[int]) -> bool:
    """Return whether two products are one turn of the innermost loop apart."""
    return earlier[:-1] == later[:-1] and later[-1:] == tuple(turn + 1 for turn in earlier[-1:])


def _goes_on(before: LocatedUse, after: LocatedUse) -> bool:
    """Return whether an operand takes the next slice of K of the same rows."""
    width = after[1].places[0].shape[1]
    return before[1].rows == after[1].rows and before[1].count_k(after[1]) == width


def _find_unread(run: KernelRunner, products: Sequence[Product], pairs: Sequence[Pair]) -> list[CheckFinding]:
    """Return the loop whose products leave out slices of K that threads store, the same of A and of B.

    The sizes that a loop inside another ends at may be such that it leaves out none.
    """
    lines = find_gaps(pairs)
    depends = any(any(use.ends[1:]) for (use, _), _ in products)
    if lines is None or depends or adds_result(run):
        return []
    if not all(leaves_bytes_unread(run, use) for use, _ in products[0]):
        return []
    first, past = lines[0].list_gaps()[0]
    use, blank = products[0][0][0], blank_text(run.text)
    at = use.calls[0] if use.calls else use.span
    loops = list_loops_at(blank, at[0])
    message = f"No product takes the elements of A and B from K = {first} to {past - 1}, which threads store."
    return [CheckFinding("k_slice_skipped", message, loops[-1].head if loops else at)]
