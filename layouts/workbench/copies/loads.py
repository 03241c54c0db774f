"""Find which parts of a tile the TMA loads of a text fill.

`workbench_builder.py` calls it for each operand; `stores.py` uses the loaded map, `tiles.py` the places of its boxes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain, pairwise

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.running.loops import MOST_ITERATIONS
from lanescope.reader.code.symbolic_integers import LinearExpression, Span
from lanescope.workbench.copies.box_loads import BoxLoad, Launch, find_launch, list_loads, list_thread_stores
from lanescope.workbench.reads.stage_counters import is_counter
from lanescope.workbench.text.function_texts import blank_text, find_functions

_MOST_GROUPS = 4  # that may come before the first one that multiplies
_TEMPLATE = re.compile(r"\btemplate\s*<([^<>{};]*)>")
_MODULAR = re.compile(r" % | & ")
_RANK = re.compile(r"cluster_ctarank|block_rank|cluster_ctaid")
_CLUSTERS = (2, 4)  # CTAs


@dataclass(frozen=True, slots=True)
class FilledTile:
    """The part of one tile that loads fill.

    offsets: byte offsets of boxes from the start of the tile; maps: names of the loaded maps; open: whether unknown
    loads may fill more; doubtful: offsets of boxes on another mbarrier than the first box, such as those of the next
    stage; apart: whether a box begins at the first byte of every tile of M or N.
    """

    offsets: frozenset[int]
    maps: frozenset[str]
    open: bool
    doubtful: frozenset[int] = frozenset()
    apart: bool = False

    def has_all(self, needed: Collection[int]) -> bool:
        return self.offsets.issuperset(needed)

    def may_have_all(self, needed: Collection[int]) -> bool:
        return self.open or (self.offsets | self.doubtful).issuperset(needed)

    def find_distance(self, count: int) -> int:
        """Find the distance between a given number of boxes; 0 if it varies or there are more or fewer boxes."""
        first = sorted(self.offsets)
        steps = {later - earlier for earlier, later in pairwise(first)}
        return steps.pop() if len(first) == count and first[0] == 0 and len(steps) == 1 else 0


@dataclass(frozen=True, slots=True)
class LoadedTile:
    """A tile that loads fill: its first byte, the byte offsets of its boxes, the names of the loaded maps."""

    begin: LinearExpression
    boxes: frozenset[int]
    maps: frozenset[str]


class TextLoads:
    """The TMA loads of a text, or of one run of a kernel."""

    def __init__(self, code: Evaluation | None) -> None:
        kernels = {f.name for f in find_functions(blank_text(code.text)) if f.kernel} if code else set()
        self.all = list(list_loads(code, kernels)) if code else []
        ran = (run for runs in (code.asm_runs, code.bodiless_calls) for run in runs) if code else ()
        self.launches = {find_launch(run, kernels) for run in ran}
        self.cut = code.cut_variables if code else frozenset()
        self.stores = list(list_thread_stores(code)) if code else []
        heads = _TEMPLATE.findall(code.text) if code else []
        self.parameters = {name for head in heads for name in re.findall(r"[A-Za-z_]\w*", head)}

    def find_launch(self, site: Sequence[object]) -> Launch:
        """Return the run of a kernel that contains a use of descriptors. site: its place and the calls around it."""
        calls = tuple(site[1:])
        return next((launch for launch in self.launches if launch and launch == calls[: len(launch)]), ())

    def list_of_launch(self, launch: Launch) -> TextLoads:
        """Return the loads of one run of a kernel; all of them outside of kernels."""
        limited = copy(self)
        limited.all = [load for load in self.all if load.launch == launch] if launch else self.all
        return limited

    def find_filled(
        self,
        base: LinearExpression | None,
        others: Iterable[LinearExpression],
        operand_starts: Collection[LinearExpression] = (),
    ) -> FilledTile | None:
        """Find the part of the tile at `base` that loads fill; None if no known call fills it.

        others: where other tiles and stages begin; operand_starts: those of the same operand.
        """
        if base is None or not base.terms:
            return None
        first = self.find_first_group(base)
        base = drop_threads(base, first)
        end = _find_end(base, (drop_threads(other, first) for other in others))
        loads = self._list_first_turn(base, end)
        if not loads:
            return None
        maps, barriers, own_map = _keep_first_map(loads)
        unclear = any(_is_part(load.to, base, end) for load in self.all) or _may_go_on(own_map, self.cut)
        offsets = frozenset(off for off, load in own_map if not barriers or load.barriers in barriers)
        doubtful = frozenset(off for off, _ in own_map) - offsets
        return FilledTile(offsets, maps, unclear, doubtful, {load.to for load in self.all}.issuperset(operand_starts))

    def find_first_group(self, start: LinearExpression) -> int:
        """Find the first value of a thread's number at which a tile begins that some load fills, 0 if none is: of
        `threadIdx.x / 128 - 1` that is 1.
        """
        starts = {load.to for load in self.all}
        groups = range(_MOST_GROUPS if any("threadIdx" in name for name, _ in start.terms) else 1)
        return next((group for group in groups if drop_threads(start, group) in starts), 0)

    def list_tilings(self) -> Iterator[list[LoadedTile]]:
        """Yield the tiles that loads may fill: what one turn copies through one map, announced by the same barriers; or
        what one call copies. If each CTA of a cluster loads a part, of clusters of several sizes.
        """
        ranked = any(_RANK.search(name) for load in self.all for name, _ in load.to.terms)
        for count in _CLUSTERS if ranked else (1,):
            yield list(self._list_tiles(count, by_call=False))
            yield list(self._list_tiles(count, by_call=True))

    def _list_tiles(self, count: int, by_call: bool) -> Iterator[LoadedTile]:
        """Yield the tiles of clusters of `count` CTAs."""
        groups: dict[object, list[BoxLoad]] = {}
        for load in self.all:
            if not any("threadIdx" in name for name, _ in load.to.terms):
                call = load.span if by_call else None
                groups.setdefault((load.to.terms, load.maps, load.turn, load.barriers, call), []).append(load)
        for of_tile in groups.values():
            ranks = [factor for name, factor in of_tile[0].to.terms if _RANK.search(name)]
            parts = [factor * n for factor in ranks[:1] for n in range(count)] or [0]
            terms = tuple(term for term in of_tile[0].to.terms if not _RANK.search(term[0]))
            first = min(load.to.const for load in of_tile)
            boxes = frozenset(load.to.const - first + part for load in of_tile for part in parts)
            yield LoadedTile(drop_threads(LinearExpression(first, terms)), boxes, of_tile[0].maps)

    def describe_unmoved(self, start: LinearExpression) -> str:
        """Describe a term of a descriptor's start that no load into the same buffer has; "" if there is none.

        Threads may read parts of a tile that is loaded as a unit, a stage may be counted in several ways, and template
        parameters are constants of a layout.
        """
        places = [{name for name, _ in load.to.terms} for load in self.all]
        buffers = {name for name, factor in start.terms if factor == 1}.intersection(chain(*places))
        terms = {name for name, _ in drop_threads(start).terms} - buffers
        more = {name for name in terms if not (is_counter(name) or _MODULAR.search(name) or self._is_constant(name))}
        into = [place for place in places if buffers and place >= buffers]
        if not into or any(place >= more for place in into):
            return ""
        term, buffer = (sorted(names, key=len)[0] for names in (more, buffers))
        return f"its start moves with {term}, and no copy into {buffer} does"

    def _is_constant(self, expression: str) -> bool:
        """Return whether an expression depends on template parameters only."""
        return self.parameters.issuperset(re.findall(r"[A-Za-z_]\w*", expression))

    def is_overwritten(self, base: LinearExpression, size: int, order: int) -> bool:
        """Return whether threads store into a tile after the last load of its first byte and before a product.

        base, size: the tile's first byte, and how many bytes it has; order: of the product.
        """
        last = max((load.order for load in self.all if load.to == base and load.order < order), default=None)
        if last is None:
            return False
        return any(
            last < at < order
            and 0 <= to.const - base.const < size
            and dict(to.terms).items() >= dict(base.terms).items()
            for to, at in self.stores
        )

    def _list_first_turn(self, base: LinearExpression, end: int) -> list[tuple[int, BoxLoad]]:
        """Return (offset, load) of the loads into the tile of `end` bytes at `base`, in the pipeline iteration that
        fills its first byte; later ones fill other stages.
        """
        into = [(load.to.const - base.const, load) for load in self.all if load.to.terms == base.terms]
        into = [(off, load) for off, load in into if 0 <= off < end]
        turns = {load.turn for off, load in into if not off}
        return [(off, load) for off, load in into if not turns or load.turn in turns]


def _keep_first_map(
    loads: Sequence[tuple[int, BoxLoad]],
) -> tuple[frozenset[str], set[frozenset[str]], list[tuple[int, BoxLoad]]]:
    """Return (maps, mbarriers) of the loads that fill a tile's first byte, and the loads that may use these maps."""
    maps = frozenset(name for off, load in loads if not off for name in load.maps)
    own_map = [(off, load) for off, load in loads if not maps or not load.maps or maps & load.maps]
    return maps, {load.barriers for off, load in own_map if not off}, own_map


def _find_end(base: LinearExpression, others: Iterable[LinearExpression]) -> int:
    """Return the bytes from `base` to the next of the other tiles in its buffer."""
    distances = (other.const - base.const for other in others if other.terms == base.terms)
    return min((distance for distance in distances if distance > 0), default=1 << 40)


def drop_threads(start: LinearExpression, group: int = 0) -> LinearExpression:
    """Return a descriptor start in the first stage, for a value of the thread's number. Warpgroups read parts of one
    tile that is loaded as a unit, and all stages are filled in the same way.
    """
    moved = sum(factor for name, factor in start.terms if "threadIdx" in name and not is_counter(name))
    start = LinearExpression(start.const + group * moved, start.terms)
    terms = tuple(term for term in start.terms if "threadIdx" not in term[0])
    if any(factor == 1 and not is_counter(name) for name, factor in terms):
        terms = tuple(term for term in terms if not is_counter(term[0]))
    return LinearExpression(start.const, terms) if terms else start


def _is_part(to: LinearExpression, base: LinearExpression, end: int) -> bool:
    """Return whether an address has terms that the tile's start lacks, so that each warp or block fills a part.

    end: bytes to the next tile; multiples of it are other stages.
    """
    own_terms, terms = dict(to.terms), dict(base.terms)
    if own_terms == terms or not own_terms.items() >= terms.items():
        return False
    more = {name: factor for name, factor in own_terms.items() if name not in terms}
    return any(factor % end for name, factor in more.items() if not is_counter(name) or end < 1 << 40)


def _may_go_on(loads: Iterable[tuple[int, BoxLoad]], cut: Collection[str]) -> bool:
    """Return whether a loop that moves the destination of a call has no known end, or iterations that were not run."""
    of_call: dict[tuple[Span, bool, object], set[int]] = {}
    for off, load in loads:
        whole = tuple(loop for loop in load.loops if loop[0] not in cut)
        if load.endless or len(whole) < len(load.loops):
            of_call.setdefault((load.span, load.endless, whole), set()).add(off)
    return any(
        len(offsets) > 1 and (endless or len(offsets) in MOST_ITERATIONS)
        for (_, endless, _), offsets in of_call.items()
    )
