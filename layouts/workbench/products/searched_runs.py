"""Make the search for the edit that makes D A·B, from a run with known sizes in which it is not."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from operator import le
from typing import Self

import numpy as np

from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.fragments.skipped_slices import adds_result
from lanescope.workbench.products.broken_products import adds_twice, find_wrong_sides
from lanescope.workbench.products.equal_sizes import may_be_equal
from lanescope.workbench.products.known_mistakes import is_launched_alone, may_be_completed, owns_result
from lanescope.workbench.products.known_runs import USUAL, KnownRun
from lanescope.workbench.products.known_sums import UNCOVERED
from lanescope.workbench.products.missing_tiles import find_launched_grid, find_tile_grid, limits_sizes
from lanescope.workbench.products.other_sizes import FIRST, LAST
from lanescope.workbench.products.product_edits import ProductSearch
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.products.replaced_sizes import limits_depth
from lanescope.workbench.products.size_names import NamedSizes, has_other_numbers, list_named_sizes, names_square
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import CheckFinding, TextEdit
from lanescope.workbench.text.function_texts import blank_text, find_functions, list_reached_texts

LONGEST = 768  # K of a run
_DEPTHS = 32, 64, 128  # K of runs that only reject an edit: the first with which the mistake is the same


def _is_like(one: ProductVerdict, other: ProductVerdict) -> bool:
    """Return whether two verdicts have the same reason and places."""
    return one.open is not None and other.open is not None and one.open.reason == other.open.reason


def _is_whole(one: ProductVerdict) -> bool:
    """Return whether D is A·B in every launch."""
    return one.open is None and bool(one.fragments) and all(one.fragments.values())


def _is_decided(verdict: ProductVerdict) -> bool:
    """Return whether all that is run is known, and no sum that is added to D may be completed by another launch."""
    decided = not any(run.undecided or run.open_loads for run in verdict.runners)
    whole = verdict.wrong is not None and verdict.is_other and not verdict.wrong.of_depth
    return decided and (whole or adds_twice(verdict) or not any(map(adds_result, verdict.runners)))


def _takes(verdict: ProductVerdict, depth: int) -> bool:
    """Return whether every sum has as many products as K, which may be less than a slice of the kernel."""
    sums = (sum(each.a.places[0].shape[-1] for each in one.products) for one in verdict.every)
    return all(verdict.fragments.values()) and all(count == depth for count in sums)


@dataclass(frozen=True, slots=True)
class SearchedRun(KnownRun):
    """A run of a kernel whose mistake is searched for."""

    def rename_sizes(self, named: NamedSizes) -> Self:
        """Return the run in which M, N and K are numbers by other names."""
        return replace(self, text=named.text, recorded=named.recorded, known=named.known, exact=named.alone)

    def make_search(self, certain: bool) -> ProductSearch | None:
        """Return the search for what makes D A·B, if it is not. certain: it is known to be wrong, which it never is for
        what sizes by other names may be.
        """
        if len(self.sizes) == 3:
            return self._make_search(certain)
        named = list_named_sizes(self.text, self.function, self.recorded, USUAL)
        one = next((one for one in named if one.text == self.text), None)
        if one is not None and len(one.known.names) == 1 and not all(map(names_square, one.known.names)):
            return None  # the only size, such as a number of tiles, need not be all of M, N and K
        search = self.rename_sizes(one)._make_search(certain) if one is not None else None
        return replace(search, certain=certain) if search is not None else None

    def _make_search(self, certain: bool) -> ProductSearch | None:
        if self.exact and self.known.k > LONGEST * self.parts:
            return None
        depths = (self.known.k,) if self.given is not None or self.is_square else _DEPTHS
        verdict = next(self._shorten(depths[-1]).list_verdicts())
        if not verdict.runners and not verdict.unsized:  # its first stages may need more of K
            depths = (self.known.k,)
            verdict = next(self.list_verdicts())
        if verdict.unsized:
            return self._search_lines(verdict.unsized, certain)
        sides, wrong = self._find_sides(verdict, certain)
        if not sides:
            return None
        sizes = [one for one in self.function.parameters if self.known.is_size(one)]
        equal = may_be_equal(self.text, self.function.name, self.function.parameters, self.recorded, sizes)
        sized = not wrong and not equal and self.is_for_all_sizes and self._is_certain(verdict)
        short = self.shorten_run(self._find_depth(verdict, depths), 1 if verdict.is_first else 0)
        proves = partial(self._is_right_with, short, short.count_to_mistake())
        blank, name = blank_text(self.text), self.function.name
        reached = frozenset(list_reached_texts(blank, find_functions(blank), self.function))
        return ProductSearch(self.text, name, reached, proves, self.known.is_size, verdict, sides, wrong, sized, equal)

    def _search_lines(self, unsized: frozenset[str], certain: bool) -> ProductSearch | None:
        """Return the search with the strides for which the most products are right, and the least of A, B and D is
        wrong.
        """
        lines = self.list_lines(unsized)
        counts = [run.shorten_run(_DEPTHS[0], 1).count_to_mistake() or inf for run in lines]
        best = [run for run, count in zip(lines, counts, strict=True) if count == max(counts)]
        found = list(filter(None, (run._make_search(certain) for run in best)))
        doubted = [len(one.verdict.doubted) if one.verdict is not None else 0 for one in found]
        ranks = [(len(one.sides), count, n) for n, (one, count) in enumerate(zip(found, doubted, strict=True))]
        return found[min(ranks)[-1]] if found else None

    def _find_sides(self, verdict: ProductVerdict, certain: bool) -> tuple[tuple[int, ...], bool]:
        """Return (what is wrong of A, B and D, whether it is wrong for sure)."""
        sides = find_wrong_sides(verdict)
        if certain:
            return sides or verdict.doubted, True
        if not _is_decided(verdict):
            return (), False
        known = self._is_certain(verdict)
        if not sides and known and (verdict.is_other or verdict.open == UNCOVERED):
            sides = find_wrong_sides(self._run_around(verdict))
        wrong = bool(sides) and known
        return (sides or verdict.doubted) if wrong or verdict.is_other else (), wrong

    def _run_around(self, verdict: ProductVerdict) -> ProductVerdict:
        """Return a verdict with blocks that are next to each other, and those at the ends of lines of blocks."""
        if verdict.grid is None or self.alone:
            return verdict
        (x, y, _), sizes = verdict.grid, self.choose_sizes()[0]
        blocks = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (x - 1, 0, 0), (0, y - 1, 0), (x - 1, y - 1, 0)]
        around = self._run_blocks(sizes, [one for one in blocks if one[0] < x and one[1] < y], verdict.grid)
        return replace(verdict, fragments=around.fragments, runners=around.runners) if around.open is None else verdict

    @property
    def is_for_all_sizes(self) -> bool:
        """Return whether nothing in the text makes the kernel one for some M and N only."""
        if self.exact or len(self.sizes) < 3 or (self.given is None and not self.choose_sizes()[0].are_named):
            return False
        return not self._are_sizes_limited

    @property
    def _are_sizes_limited(self) -> bool:
        """Return whether something in the text makes the kernel one for some M and N only."""
        sides = (self.known.m, self.known.n)
        names = {
            name for name in (*self._known_sizes.names, *self.function.parameters) if self.known.find(name) in sides
        }
        members = {name for one in self._launches for _, name, _ in one.members if self.known.find(name) in sides}
        return limits_sizes(self.text, names | members)

    @property
    def is_square(self) -> bool:
        """Return whether M, N and K are one number."""
        return len(set(self.known.names.values())) == 1

    def _may_lack_blocks(self, stored: Set[str]) -> bool:
        """Return whether all of D is that of the blocks of the only launch. stored: the arrays of D."""
        if self.launches or self.alone or "gridDim" in self.body:
            return False
        for_all = self.is_for_all_sizes or (self.is_square and not self._are_sizes_limited)
        return for_all and is_launched_alone(self.text, self.function, self.recorded, stored)

    def find_short_grid(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of the only launch if its grid has M in place of N or N in place of M, or too few blocks
        for a size, and D is A·B with a block for each tile. Few blocks without a size may be meant, for a part of D.
        """
        own = verdict.grid
        if own is None or not self._may_lack_blocks(verdict.stored):
            return None
        sizes = self.choose_sizes()[0]
        around = self._run_blocks(sizes, [(0, 0, 0), (1, 0, 0), (0, 1, 0)][: 2 + (own[1] > 1)], own)
        places: dict[Block, list[Ints]] = {}
        for one in around.every:
            places.setdefault(one.block, []).append(one.place)
        joined = {block: np.concatenate(of) for block, of in places.items()}
        needed = find_tile_grid(joined, (self.known.m, self.known.n), own)
        if needed is None or (verdict.open == UNCOVERED and all(map(le, needed.blocks, own))):  # none is left out
            return None
        mistake, launch = needed.find_mistake(own), self._launches[0]
        if not mistake and owns_result(self.text, self.function, launch, verdict.stored):
            mistake = needed.find_too_few(own, launch)
        if not mistake or self._judge_grid(sizes, needed.blocks).open is not None:
            return None
        message = f"With {self.known.m:,} × {self.known.n:,} elements of D, {mistake}"
        return CheckFinding("tiles_left", message, find_launched_grid(self.text, launch))

    def _find_depth(self, verdict: ProductVerdict, depths: Sequence[int]) -> int:
        """Return the least K with which D is wrong for the same reason, and no slice is left out."""
        for depth in depths[:-1]:
            if any(_is_like(one, verdict) and _takes(one, depth) for one in self._shorten(depth).list_verdicts()):
                return depth
        return depths[-1]

    def _shorten(self, depth: int) -> Self:
        return replace(self, known=replace(self.known, k=depth))

    def _is_certain(self, verdict: ProductVerdict) -> bool:
        """Return whether what is run is all of what the kernel is for."""
        other = has_other_numbers(self.text, self.function, self.recorded, self.known)
        known = self.given is not None or (self.choose_sizes()[0].are_named and not other)
        completed = not verdict.fragments and may_be_completed(self.text, self.function, self.recorded)
        return known and not completed and not limits_depth(blank_text(self.text), self.known.k)

    def shorten_run(self, depth: int, launches: int) -> Self:
        """Return the run of one block with a short K."""
        alone = self.alone or (FIRST if self.takes_turns else LAST)
        return replace(self._shorten(depth), alone=alone, launches=launches)

    def _is_right_with(self, short: Self, count: int, edit: TextEdit) -> bool:
        """Return whether D is A·B after an edit, first in a short run. count: of its products, judged before."""
        short, whole = (replace(run, text=apply_edits(self.text, [edit])) for run in (short, self))
        if count and not short.starts_right(count):
            return False
        return all(any(map(_is_whole, run.list_verdicts())) for run in (short, whole))
