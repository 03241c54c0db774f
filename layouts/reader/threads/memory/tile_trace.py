"""What a traced kernel copies by boxes and multiplies: coordinates of TMA copies, descriptors of wgmma, boxes of D.

A run with known sizes gives all of them as numbers. `barrier_simulation.py` then says in which order they happen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.descriptor.matrix import View, view
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.code.syntax import tree
from lanescope.reader.instructions.immediates import find_transposes
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, BarrierTrace, TraceLostError, spread_known
from lanescope.reader.threads.barriers.clusters import map_address
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import Scope, split_operands
from lanescope.reader.threads.language.sites import trace_site
from lanescope.reader.threads.memory.matrix_reads import NEGATED, is_negated, note_register_product
from lanescope.reader.threads.memory.scale_copies import list_scale_uses, make_line_move, make_scale_copy
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.staged_bytes import StagedBytes, StagedOrder
from lanescope.reader.threads.memory.storage import (
    EMPTY,
    DataBytes,
    Ints,
    LocalMemory,
    Mask,
    Pointer,
    Span,
    spread_coefficient,
)
from lanescope.reader.threads.memory.tensor_products import LANES, UNFOLLOWED, TensorSums, spread_issued
from lanescope.reader.threads.memory.tile_records import BoxMove, BoxRead, LineMove, ScaleCopy, TileProduct, TileSetup
from lanescope.reader.threads.memory.tile_steps import TileStep, TileSteps
from lanescope.reader.threads.memory.warp_products import await_origin, make_warp_product, store_matrices

if TYPE_CHECKING:
    from lanescope.reader.code.syntax.tree_statements import Assembly
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.memory.records import MmaUse
    from lanescope.reader.threads.runner import KernelRunner

_TENSOR = re.compile(r"cp\.async\.bulk\.tensor\.[1-5]d\.")
_STORE = re.compile(r"cp\.(?:reduce\.)?async\.bulk\.tensor\.[1-5]d\.global\.shared")
_MOVES = re.compile(r"cp\.(?:reduce\.)?async\.bulk\.tensor|stmatrix\.|wgmma\.mma_async")
_NAMED_STORE = re.compile(r"cp_async_bulk_tensor_[1-5]d_shared_to_global")
_SILENT = re.compile(r"cp\.async\.bulk\.(?:commit_group|wait_group|prefetch)")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class TileTrace(BarrierTrace):
    """A trace that also has boxes and products. warps: whether warps multiply; awaits: whether threads load what copies
    bring to multiply it.
    """

    setup: TileSetup | None = None
    warps: bool = False
    awaits: bool = False
    loads: list[BoxMove] = field(default_factory=list)
    products: list[TileProduct] = field(default_factory=list)
    products_of_warps: list[TileProduct] = field(default_factory=list)
    stores: list[BoxMove] = field(default_factory=list)
    lines: list[LineMove] = field(default_factory=list)
    reads: list[BoxRead] = field(default_factory=list)
    scale_copies: list[ScaleCopy] = field(default_factory=list)
    staged: StagedBytes = field(default_factory=StagedBytes)
    order: StagedOrder = field(default_factory=StagedOrder)
    sums: TensorSums = field(default_factory=TensorSums)
    steps: TileSteps = field(default_factory=TileSteps)

    def join_pair(self, run: KernelRunner) -> None:
        """Take the results of the other block of a pair, if that issues the products of both."""
        mate = run.cluster.mate if run.cluster is not None else None
        if mate is not None and isinstance(mate.barriers, TileTrace) and mate.barriers.sums.paired:
            self.sums.take_results(mate.barriers.sums)
            run.results += mate.results

    @property
    def skips_products(self) -> bool:
        return False

    def list_later(self, assembly: Assembly) -> Collection[int]:
        if "wgmma.mma_async" not in (assembly.code or ""):
            return ()
        return [n for n, (kind, _) in enumerate(assembly.operands) if kind.startswith("+")][1:-1]

    def note_store(self, run: KernelRunner, places: Ints, data: DataBytes, site: Span) -> None:
        self.staged.note_store(places, data, run.mask, site)
        self.order.note_store(len(self.events), places, data, run.mask, site)
        self._add_access(run, "store", places, (run.mask, data.size, site))

    def replace_bytes(self, run: KernelRunner, data: DataBytes, places: Ints, mask: Mask, site: Span) -> DataBytes:
        every = places[:, None] + np.arange(data.size)
        if self.staged.latest is None and (data.record[mask] < 0).any():
            self.order.check_read(self.events, every[mask], np.flatnonzero(mask), site)
        if (data.record[mask] < 0).any():
            self._add_access(run, "load", places, (mask, data.size, site))
        if self.awaits and (data.record[mask] == EMPTY).any():
            self.meet_warps(run, "load")
            self._add_access(run, "load", places, (mask, data.size, site))
            read, data = await_origin(run, data, places, mask)
            self.reads.append(read)
            return data
        return self.staged.replace_bytes(data, every, np.arange(len(places)))

    def note_warp_product(self, run: KernelRunner, use: MmaUse, added: Any) -> None:
        if self.warps:
            self.products_of_warps.append(make_warp_product(len(run.results), use, added))

    def _add_access(self, run: KernelRunner, kind: str, places: Ints, of: tuple[Mask, int, Span]) -> None:
        """Add an access. of: its threads, the bytes of each of them, and its place."""
        mask, size, site = of
        self.steps.add(run, TileStep(len(self.events), kind, mask.copy(), run.find_own_place(site), size, places))

    def note_bulk_group(self, run: KernelRunner, name: str, site: Span) -> None:
        BarrierTrace.note_bulk_group(self, run, name, site)
        self.steps.add_group(run, "bulk commit" if "commit" in name else "bulk wait", site)

    def note_fence(self) -> None:
        self.fills.note_fence()
        self.order.fences += 1

    def follow_copy(
        self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask, rank: int | None = None
    ) -> None:
        if _TENSOR.match(opcode):
            _note_box(code, opcode, operands, mask, len(self.events) - 1, rank)
        elif rank is None and (move := make_line_move(code, opcode, operands, mask, len(self.events) - 1)) is not None:
            self.lines.append(move)

    def follow_tensor(self, code: AsmCode, event: TensorEvent, operands: Sequence[str]) -> None:
        if event.verb == "mma":
            _note_tensor_tile(code, event, operands)
        elif event.verb == "ld":
            self.sums.load(code, event, split_operands(operands[0].strip("{} ")))
        elif event.verb == "cp":
            self._note_scale_copy(code, event)
        elif event.verb in UNFOLLOWED:
            raise TraceLostError(f"tcgen05.{event.verb} is not followed")

    def _note_scale_copy(self, code: AsmCode, event: TensorEvent) -> None:
        copy = make_scale_copy(event, len(self.events))
        if copy is None:
            self.sums.scaled = True
            return
        nothing = np.zeros(code.run.threads, np.int64)
        self.add(code.run, BarrierEvent("wgmma", event.mask, nothing, nothing, event.call, event.call))
        self.scale_copies.append(copy)

    def follow_move(self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask) -> bool:
        run, outer = code.run, code.run.mask
        run.mask = mask
        done = True
        if not mask.any() and _MOVES.match(opcode):
            pass
        elif _STORE.match(opcode):
            _note_box(code, opcode, operands, mask, -1)
        elif opcode.startswith("stmatrix."):
            store_matrices(code, opcode, operands)
        elif _SILENT.match(opcode):
            self.steps.follow_group(code, opcode, operands)
        else:
            done = False
            self.steps.follow_group(code, opcode, operands)
            if opcode.startswith("wgmma.mma_async.sp"):
                raise TraceLostError
            if opcode.startswith("wgmma.mma_async."):
                done = _note_tile(code, opcode, operands)
                code.load_rest() if not done else None
        run.mask = outer
        return done


# instructions ---------------------------------------------------------------------------------------------------------


def _note_box(
    code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask, event: int, rank: int | None = None
) -> None:
    """Note a TMA copy of PTX. event: the number of a load's event, -1 for a store; rank: of the block that a multicast
    fills.
    """
    if "im2col" in opcode:
        raise TraceLostError
    outward = event < 0
    shared, box = (operands[1], operands[0]) if outward else (operands[0], operands[1])
    token, _, rest = box.strip().strip("[]").partition(",")
    coordinates = split_operands(rest.strip().strip("{}"))
    values = [spread_known(code.run, code.get_value(one)) for one in coordinates]
    place = spread_known(code.run, code.get_shared_address(shared))
    place = place if rank is None else map_address(place, np.full_like(place, rank))
    written = code.get_site(token)
    sites = tuple(code.get_site(one) for one in coordinates)
    adds = opcode.startswith("cp.reduce")
    _add_box(code.run, event, written, (place, values, mask), sites, adds)


def note_box_call(run: KernelRunner, name: str, node: tree.Call, scope: Scope, event: int) -> None:
    """Note a TMA copy of a function of libcu++. event: see note_box."""
    trace = run.barriers
    if not isinstance(trace, TileTrace) or "tensor" not in name:
        return
    given = list(node.arguments)
    if name == "cp_async_bulk_tensor":
        at, box = given[2:4]
        coordinates, sites = _list_items(run, given[4], scope)
    elif event < 0:
        box, *places, at = given
        coordinates, sites = _evaluate_all(run, places, scope)
    else:
        at, box, *places, _ = given
        coordinates, sites = _evaluate_all(run, places, scope)
    address = run.evaluate(at, scope)
    place = spread_known(run, address.shared_address if isinstance(address, Pointer) else address)
    values = [spread_known(run, value) for value in coordinates]
    written = trace_site(run, box, scope)
    _add_box(run, event, written, (place, values, run.mask.copy()), sites)


def follow_box_store(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Note a call of libcu++ that copies a box to global memory."""
    if _NAMED_STORE.fullmatch(name) and isinstance(run.barriers, TileTrace):
        note_box_call(run, name, node, scope, -1)


def _evaluate_all(
    run: KernelRunner, nodes: Sequence[tree.Expression], scope: Scope
) -> tuple[list[Any], tuple[Span, ...]]:
    return [run.evaluate(one, scope) for one in nodes], tuple(trace_site(run, one, scope) for one in nodes)


def _list_items(run: KernelRunner, node: tree.Expression, scope: Scope) -> tuple[list[Any], tuple[Span, ...]]:
    """Return the numbers of a local array, and where they are given."""
    value = run.evaluate(node, scope)
    if not isinstance(value, Pointer) or not isinstance(value.array, LocalMemory) or value.offset is None:
        raise TraceLostError
    cells, first = value.array.cells, value.offset.known
    items = [cells[at][0] for at in sorted(cells) if first is not None and at >= first]
    given = value.array.initializer
    listed = given[0] if isinstance(given, tuple) else None
    if isinstance(listed, tree.ItemList) and len(listed.items) == len(items):
        return items, tuple(trace_site(run, one, given[1]) for _, one in listed.items)
    return items, (node.span,) * len(items)


def _add_box(
    run: KernelRunner,
    event: int,
    site: Span,
    box: tuple[Ints, list[Ints], Mask],
    sites: tuple[Span, ...],
    adds: bool = False,
) -> None:
    """Note a TMA copy. site: of its map; box: the address, the coordinates and the threads; sites: of coordinates."""
    trace, maps, (place, values, mask) = run.barriers, frozenset(_WORD.findall(run.text[slice(*site)])), box
    assert isinstance(trace, TileTrace) and trace.setup is not None
    call = run.find_own_place(run.get_call(site))
    move = BoxMove(event, maps, mask.copy(), place, tuple(values), sites, site, adds=adds, call=call)
    if event >= 0:
        trace.loads.append(move)
        return
    place = run.shared.localize(place)
    for lane in np.flatnonzero(mask):
        places = trace.setup.list_places(run.kernel, maps, run.instance.maps, int(place[lane]))
        if places is None or places.min() < 0 or places.max() >= SHARED_BYTES:
            continue
        shared = run.shared
        data = DataBytes(*(part[places][None] for part in (shared.record, shared.thread, shared.byte)))
        mine = places[data.record[0] < 0]
        if len(mine) and trace.staged.latest is None:
            trace.order.check_read(trace.events, mine[None], np.array([lane]), site, True)
        move.data[int(lane)] = trace.staged.replace_bytes(data, places[None], [int(lane)])
    trace.stores.append(move)
    trace.steps.add(run, TileStep(len(trace.events), "copy", move.mask, run.find_own_place(site), 0, place, maps))


# products and staging -------------------------------------------------------------------------------------------------


def _note_tile(code: AsmCode, opcode: str, operands: Sequence[str]) -> bool:
    """Note a wgmma whose operands are known; return whether it adds to the D of an earlier one, in all its registers.

    Its result is then that of the earlier one, else the next one of the run.
    """
    run, trace = code.run, code.run.barriers
    outputs = split_operands(operands[0].strip("{} "))
    assert isinstance(trace, TileTrace)
    if len(operands) < 4 or not outputs:
        return False
    nothing = np.zeros(run.threads, np.int64)
    at = run.calls[0] if run.calls else (0, 0)
    trace.add(run, BarrierEvent("wgmma", run.mask.copy(), nothing, nothing, at, at))
    found = _read_operands(code, opcode, operands)
    if found is None:
        return False
    words, views, sites = found
    result, before, start = _find_result(code, operands[3], outputs)
    start = NEGATED if is_negated(code, catalog.find(opcode), operands) else start
    again = result < len(run.results)
    event, mask, calls = len(trace.events) - 1, run.mask.copy(), tuple(run.calls)
    use = note_register_product(code, opcode, operands)
    trace.products.append(TileProduct(event, result, mask, words, views, before, sites, calls, start=start, use=use))
    if again:
        code.written.update(n for n in (code.find_number(outputs[n]) for n in (0, -1)) if n is not None)
    return again


def _note_tensor_tile(code: AsmCode, event: TensorEvent, operands: Sequence[str]) -> None:
    """Note a tcgen05.mma, whose D is in tensor memory."""
    run, trace = code.run, code.run.barriers
    assert isinstance(trace, TileTrace)
    rows: Mask = np.arange(run.threads) < LANES
    if np.count_nonzero(rows) < LANES:
        raise TraceLostError
    result, instruction = trace.sums.add_product(code, event)
    nothing = np.zeros(run.threads, np.int64)
    trace.add(run, BarrierEvent("wgmma", event.mask, nothing, nothing, event.call, event.call))
    words = {name: spread_issued(code, event, token) for name, token in zip("ab", operands[1:3], strict=True)}
    try:
        views = {name: instruction.make_view(name, major) for name, major in instruction.majors}
    except LayoutError:
        raise TraceLostError from None
    sites = {name: code.get_site(token) for name, token in zip("ab", operands[1:3], strict=True)}
    number, calls = len(trace.events) - 1, tuple(run.calls)
    scales, pair = list_scale_uses(event), instruction.pair
    trace.products.append(
        TileProduct(number, result, rows, words, views, None, sites, calls, True, pair=pair, scales=scales)
    )


def _find_result(code: AsmCode, scale_d: str, outputs: Sequence[str]) -> tuple[int, DataBytes | None, str]:
    """Return (number of a product's result, another one that its first register of D held, why its sum is open)."""
    run, scale = code.run, code.get_value(scale_d)
    if not isinstance(scale, ThreadNumber) or scale.const is None:
        raise TraceLostError
    scales = set((spread_coefficient(scale.const, run.threads)[run.mask] != 0).tolist())
    if len(scales) > 1:
        raise TraceLostError
    if scales == {False}:
        return len(run.results), None, ""
    first, last = (code.get_value(outputs[n]) for n in (0, -1))
    record = _find_record(run, first)
    if record < 0 and record == _find_record(run, last):
        return -record - 1, None, ""
    start = code.describe_start([outputs[0], outputs[-1]])
    before = first if isinstance(first, DataBytes) else None
    return len(run.results), before, f"a product adds to {start}" * bool(start)


def _read_operands(
    code: AsmCode, opcode: str, operands: Sequence[str]
) -> tuple[dict[str, Ints], dict[str, View], dict[str, Span]] | None:
    """Return the descriptors of A, if it is not in registers, and B of every thread, how each operand is read and where
    it is given; None if open.
    """
    try:
        instruction = catalog.find(opcode)
        words, views, sites = {}, {}, {}
        in_registers = operands[1].startswith("{")
        transposes = find_transposes(instruction, operands, in_registers)
        for name, token in zip("ab", operands[1:3], strict=True):
            turn = code.get_value(transposes[name]) if name in transposes else None
            major = "MN" if isinstance(turn, ThreadNumber) and turn.known else "K"
            views[name] = view(instruction, name, major)
            if name == "a" and in_registers:
                sites[name] = code.get_site(split_operands(token.strip("{} "))[0])
                continue
            words[name], sites[name] = spread_known(code.run, code.get_value(token)), code.get_site(token)
    except LayoutError:
        return None
    return words, views, sites


def _find_record(run: KernelRunner, value: Any) -> int:
    """Return the record that a register of D has in all running threads; 0 if none or several."""
    if not isinstance(value, DataBytes):
        return 0
    records = np.unique(value.record[run.mask])
    return int(records[0]) if len(records) == 1 else 0
