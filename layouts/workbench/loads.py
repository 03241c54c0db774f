"""Find which parts of a tile the TMA loads of a text fill.

`bench_builder.py` calls it for each operand; `stores.py` uses the loaded map, `tiles.py` the places of its boxes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, BodilessCall
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.loops import MOST_ITERATIONS
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt
from lanescope.reader.code.values import Address, OpaqueValue, Pointer, ResolvedType
from lanescope.workbench.asm_operands import join_strings
from lanescope.workbench.function_texts import blank_text, find_functions
from lanescope.workbench.stage_counters import is_counter

_CALL = re.compile(r"tma|bulk|tensor|load|copy|fetch|issue", re.I)
_OTHER = re.compile(r"store|prefetch|reduce|s2g|shared_?(?:to|2)_?global|make|create|encode|desc|partition|print", re.I)
_ASM = re.compile(
    r"cp\.async\.bulk\.tensor\S*shared::(?:cluster|cta)\S*global\S*"
    r"\s*\[\s*%(\d{1,3})\s*[,\]](?:\s*,\s*\[\s*%(\d{1,3}))?"
)
_BARRIER = re.compile(r"\}\s*\]\s*,\s*\[\s*%(\d{1,3})\s*\]")  # behind the coordinates
_STORE = re.compile(r"(?<![\w.])(?:st(?:\.\w+)*\.shared|stmatrix)\S*\s*\[\s*%(\d{1,3})\s*[\]+]")
_MOST_GROUPS = 4  # that may come before the first one that multiplies
_TEMPLATE = re.compile(r"\btemplate\s*<([^<>{};]*)>")
_MODULAR = re.compile(r" % | & ")
_RANK = re.compile(r"cluster_ctarank|block_rank|cluster_ctaid")
_CLUSTERS = (2, 4)  # CTAs
Launch = tuple[Span, ...]  # the calls that lead to one run of a kernel, with its launch; () outside of kernels
MAP_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class BoxLoad:
    """One execution of a call that loads a box.

    to: byte address of the destination; maps: possible names of its map; span: the call; loops: values of the enclosing
    loop variables if the loop bounds are known; endless: whether other loops enclose it; turn: the iteration of these;
    barriers: its other address arguments, one of which is the mbarrier; order: its position in execution order; launch:
    the run of a kernel that it belongs to.
    """

    to: LinearExpression
    maps: frozenset[str]
    span: Span
    loops: tuple[tuple[str, int | None], ...] = ()
    endless: bool = False
    turn: tuple[tuple[str, str], ...] = ()
    barriers: frozenset[str] = frozenset()
    order: int = 0
    launch: Launch = ()


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
        self.all = list(_list_loads(code, kernels)) if code else []
        ran = (run for runs in (code.asm_runs, code.bodiless_calls) for run in runs) if code else ()
        self.launches = {_find_launch(run, kernels) for run in ran}
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

        others: where other tiles and stages begin; own: those of the same operand.
        """
        if base is None or not base.terms:
            return None
        first = self.find_first_group(base)
        base, others = drop_threads(base, first), [drop_threads(other, first) for other in others]
        following = [
            other.const - base.const for other in others if other.terms == base.terms and other.const > base.const
        ]
        end = min(following, default=1 << 40)
        loads = _keep_first_turn(self._is_into_operand(base, end))
        if not loads:
            return None
        maps = frozenset(name for off, load in loads if not off for name in load.maps)
        own_map = [(off, load) for off, load in loads if not maps or not load.maps or maps & load.maps]
        unclear = any(_is_part(load.to, base, end) for load in self.all) or _may_go_on(own_map, self.cut)
        barriers = {load.barriers for off, load in own_map if not off}
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
        terms = {name for name, _ in drop_threads(start).terms}
        places = [{name for name, _ in load.to.terms} for load in self.all]
        buffers = {name for name, factor in start.terms if factor == 1 and any(name in place for place in places)}
        more = {name for name in terms - buffers if not is_counter(name) and not _MODULAR.search(name)}
        more = {name for name in more if not self.parameters.issuperset(re.findall(r"[A-Za-z_]\w*", name))}
        into = [place for place in places if buffers and place >= buffers]
        if not into or any(place >= more for place in into):
            return ""
        term, buffer = (sorted(names, key=len)[0] for names in (more, buffers))
        return f"its start moves with {term}, and no copy into {buffer} does"

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

    def _is_into_operand(self, base: LinearExpression, end: int) -> list[tuple[int, BoxLoad]]:
        """Return (offset, load) of the loads into the tile that begins at `base` and ends at `end`."""
        into = [(load.to.const - base.const, load) for load in self.all if load.to.terms == base.terms]
        return [(off, load) for off, load in into if 0 <= off < end]


def _keep_first_turn(loads: list[tuple[int, BoxLoad]]) -> list[tuple[int, BoxLoad]]:
    """Keep the loads in the pipeline iteration that fills the tile's first byte; later ones fill other stages."""
    turns = {load.turn for offset, load in loads if not offset}
    return [(offset, load) for offset, load in loads if not turns or load.turn in turns]


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
    """Return whether a loop that moves the destination of a call has no known end, or turns that were not run."""
    of_call: dict[tuple[Span, bool, object], set[int]] = {}
    for off, load in loads:
        whole = tuple(loop for loop in load.loops if loop[0] not in cut)
        if load.endless or len(whole) < len(load.loops):
            of_call.setdefault((load.span, load.endless, whole), set()).add(off)
    return any(
        len(offsets) > 1 and (endless or len(offsets) in MOST_ITERATIONS)
        for (_, endless, _), offsets in of_call.items()
    )


def is_load_name(head: str) -> bool:
    """Return whether a function's name suggests a TMA load."""
    return bool(_CALL.search(head)) and not _OTHER.search(head)


def is_load(call: BodilessCall) -> bool:
    """Return whether a call loads by TMA: by its name, or for copy() by its type's, else by the barrier it is given."""
    head = call.term.head
    if head != "copy":
        return is_load_name(head)
    owner = dict(call.term.named).get("::")
    name = owner.name if isinstance(owner, ResolvedType) else call.term.text.partition("(")[0]
    if re.search(r"load|store|reduce", name, re.I):
        return is_load_name(f"{name}::{head}")
    places = [value for value in call.term.arguments if isinstance(value, Address | Pointer)]
    return len(places) > 2  # a map, a barrier and the destination


def _list_loads(code: Evaluation, kernels: Collection[str]) -> Iterator[BoxLoad]:
    for call in code.bodiless_calls:
        if is_load(call):
            for load in _list_call_loads(call, code.unbounded_variables):
                yield replace(load, launch=_find_launch(call, kernels))
    for ran in code.asm_runs:
        if (found := _find_assembly_load(ran, code.unbounded_variables)) is not None:
            yield replace(found, launch=_find_launch(ran, kernels))


def _find_launch(run: AsmRun | BodilessCall, kernels: Collection[str]) -> Launch:
    depth = next((n for n, (name, _) in enumerate(run.calls) if name in kernels), -1)
    return tuple(span for _, span in run.calls[: depth + 1])


def _list_call_loads(call: BodilessCall, endless: Collection[str]) -> Iterator[BoxLoad]:
    """Yield the loads of a bodiless call: any address argument may be the destination; only one is in a tile."""
    maps = {name for value in call.term.arguments for name in list_map_names(value)}
    for value in call.term.arguments:
        address = get_integer(value) if isinstance(value, Pointer | SymbolicInt) else None
        if address is not None and address.plain is not None and address.plain.terms:
            load = _make_load(address.plain, maps, call.term.span, call.loops, endless)
            barriers = frozenset(_list_other_addresses(call, address.plain))
            yield replace(load, barriers=barriers, order=call.order)


def _list_other_addresses(call: BodilessCall, to: LinearExpression) -> Iterator[str]:
    """Yield the address and object arguments of a call except the destination, in this iteration of its loops."""
    for value in call.term.arguments:
        if isinstance(value, OpaqueValue):
            turn = (f"{name} = {n.known}" for name, n in call.loops if re.search(rf"\b{re.escape(name)}\b", value.text))
            yield " ".join((value.text, *turn))
        elif isinstance(value, Address):
            yield str(value)
        elif isinstance(value, Pointer | SymbolicInt):
            address = get_integer(value)
            line = address.plain if address is not None else None
            if line is None or line == to:
                continue
            if isinstance(value, Pointer) or dict(line.terms).keys() == dict(to.terms).keys():  # else a coordinate
                yield str(line)


def _find_assembly_load(asm_run: AsmRun, endless: Collection[str]) -> BoxLoad | None:
    """Find PTX's cp.async.bulk.tensor into shared memory: its first operand is the destination."""
    match = _ASM.search(join_strings(asm_run.text))
    if match is None or int(match[1]) >= len(asm_run.inputs):
        return None
    value = asm_run.inputs[int(match[1])][1]
    line = value.plain if value is not None else None
    if line is None or not line.terms:
        return None
    words = (word.plain for kind, word, _ in asm_run.inputs if "l" in kind and word is not None)
    symbols = {name for word in words if word is not None for name, _ in word.terms}
    maps = {name for symbol in symbols for name in _list_symbol_names(asm_run, symbol)}
    at = asm_run.calls[-1][1] if asm_run.calls else asm_run.span
    load = replace(_make_load(line, maps, at, asm_run.loops, endless), order=asm_run.order)
    barrier = _BARRIER.search(join_strings(asm_run.text), match.end())
    address = (
        asm_run.inputs[int(barrier[1])][1] if barrier is not None and int(barrier[1]) < len(asm_run.inputs) else None
    )
    return replace(load, barriers=frozenset((str(address.plain),))) if address is not None else load


def list_thread_stores(code: Evaluation) -> Iterator[tuple[LinearExpression, int]]:
    """Yield (byte address, order) of the stores of threads: through pointers, and by st.shared and stmatrix of PTX."""
    for store in code.memory_stores:
        yield store.to, store.order
    for run in code.asm_runs:
        match = _STORE.search(join_strings(run.text))
        value = run.inputs[int(match[1])][1] if match is not None and int(match[1]) < len(run.inputs) else None
        first = next((piece for piece in value.pieces if not piece.shift), None) if value is not None else None
        if value is not None and first is not None:
            yield value.plain or first.source, run.order


def find_assembly_map(asm_run: AsmRun) -> str:
    """Return the name of the tensor map that a cp.async.bulk.tensor into shared memory loads through, "" if it has
    none.
    """
    match = _ASM.search(join_strings(asm_run.text))
    if match is None or not match[2] or int(match[2]) >= len(asm_run.inputs):
        return ""
    value = asm_run.inputs[int(match[2])][1]
    line = value.plain if value is not None else None
    if line is None or len(line.terms) != 1 or line.const:
        return ""
    names = [name.lstrip("&") for name in _list_symbol_names(asm_run, line.terms[0][0])]
    return next((name for name in reversed(names) if MAP_NAME.fullmatch(name)), "")


def _list_symbol_names(asm_run: AsmRun, symbol: str) -> tuple[str, ...]:
    """Return a symbol of an asm statement, and what its place is called."""
    return (symbol, *dict(asm_run.places).get(symbol, ()))


def _make_load(
    to: LinearExpression,
    maps: Iterable[str],
    span: Span,
    loops: Iterable[tuple[str, SymbolicInt]],
    endless: Collection[str],
) -> BoxLoad:
    known = tuple((name, value.known) for name, value in loops if name not in endless)
    own_maps = frozenset(maps) - {name for name, _ in to.terms}
    turn = tuple((name, str(value)) for name, value in loops if name in endless)
    return BoxLoad(to, own_maps, span, known, bool(turn), turn)


def list_map_names(value: object) -> Iterator[str]:
    """Yield the possible tensor-map names of an argument."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        yield value.place.name
        if isinstance(value.place.value, OpaqueValue):
            yield value.place.value.text
    elif isinstance(value, Pointer):
        yield from (name for name, _ in value.base.terms)
