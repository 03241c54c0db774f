"""Replay the copies and products of a block, or of the blocks of a cluster, in an order that their mbarriers allow.

A multicast fills the same bytes in several blocks. Of a product by a pair of CTAs each block has half of the rows of A
and of D, and half of the columns of B (PTX ISA 9.1, 9.7.16.5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lanescope.ptx.threads import GROUP_WARPS, WARP
from lanescope.reader.threads.barriers.barrier_agents import Agent, is_exact, join_events, make_cluster_agents
from lanescope.reader.threads.barriers.barrier_simulation import REPLAY, Simulation
from lanescope.reader.threads.barriers.clusters import get_rank
from lanescope.reader.threads.memory.tile_records import BoxRead, LineMove, TileProduct
from lanescope.workbench.products.product_origins import ALL_BITS, OperandOrigin, OriginFinder
from lanescope.workbench.products.warp_origins import locate_products, locate_registers, note_owners, settle_reads

_Operands = dict[str, OperandOrigin | None]


def replay_blocks(finders: Sequence[OriginFinder]) -> bool:
    """Find the origin of every product of the blocks of a cluster, in the order of their ranks; return whether their
    runs are known and end.
    """
    traces = [finder.trace for finder in finders]
    of_blocks = [trace.events for trace in traces]
    known = all(trace.ended and trace.sums.is_even for trace in traces) and any(trace.loads for trace in traces)
    if not known or not is_exact(join_events(of_blocks)):
        return False
    agents = make_cluster_agents(of_blocks, finders[0].run.threads)
    outcome = Simulation(agents).run(REPLAY)
    if outcome.blocked:
        return False
    first = np.cumsum([0, *map(len, of_blocks)]).tolist()
    players = [_BlockReplay(finders, rank) for rank in range(len(finders))]
    moves = ((agents[n], event) for n, event in outcome.moves)
    known = all(players[agent.block].follow(agent, event - first[agent.block]) for agent, event in moves)
    for finder in finders:
        settle_reads(finder)
        locate_products(finder)
        locate_registers(finder)
    return known


class _BlockReplay:
    """The copies and products that one block issues."""

    def __init__(self, finders: Sequence[OriginFinder], rank: int) -> None:
        self.finders, self.own = finders, finders[rank]
        self.mate = finders[rank ^ 1] if rank ^ 1 < len(finders) else None
        self.warps = self.own.run.threads // WARP
        self.loads = self.own.map_loads()
        self.products = {product.event: product for product in self.own.trace.products}
        self.copies = {copy.event: copy for copy in self.own.trace.scale_copies}
        self.lines = {move.event: move for move in self.own.trace.lines}
        self.reads: dict[int, list[BoxRead]] = defaultdict(list)
        for read in self.own.trace.reads:
            self.reads[read.event].append(read)
        if self.mate is not None and any(product.pair for product in self.own.trace.products):
            self.mate.take_products(self.own)

    def follow(self, agent: Agent, event: int) -> bool:
        """Follow a copy or a product of an agent; return whether what it does is known."""
        warp = agent.warp % self.warps
        if event in self.products:
            product = self.products[event]
            first = 0 if product.in_memory else warp // GROUP_WARPS * GROUP_WARPS
            if first + GROUP_WARPS > self.warps:
                return False
            if (event, first) not in self.own.origins:  # once for the warpgroup
                return self._read_pair(product) if product.pair else self._read(product, first)
            return True
        if event in self.copies:
            self.own.scales.copy(self.copies[event], self.own.owner, self.own.boxes)
            return True
        if event in self.reads:
            note_owners(self.own, self.reads[event], warp)
            return True
        if event in self.lines:
            return self._fill_lines(self.lines[event], warp)
        for move in self.loads.get(event, ()):
            for lane in np.flatnonzero(move.mask).tolist():
                rank = get_rank(int(move.place[lane]))
                if lane // WARP == warp and (rank >= len(self.finders) or not self.finders[rank].fill(move, lane)):
                    return False
        return event in self.loads or self.own.trace.sums.scaled  # else a copy of scale factors

    def _fill_lines(self, move: LineMove, warp: int) -> bool:
        """Follow a copy of bytes by a warp; return whether they are known."""
        lanes = [lane for lane in np.flatnonzero(move.mask).tolist() if lane // WARP == warp]
        return all(self.own.scales.fill_line(move, lane, self.own.owner) for lane in lanes)

    def _read(self, product: TileProduct, first: int) -> bool:
        """Find what the warps of a warpgroup multiply. first: the number of its first warp."""
        known: dict[tuple[str, int], OperandOrigin | None] = {}
        for warp in range(first, first + GROUP_WARPS):
            words = {name: int(values[WARP * warp]) & ALL_BITS for name, values in product.words.items()}
            for key in words.items():
                if key not in known:
                    known[key] = self.own.locate(key[1], product.views[key[0]])
            self.own.origins[product.event, warp] = {name: known[name, word] for name, word in words.items()}
        self.own.scales.take(product)
        return True

    def _read_pair(self, product: TileProduct) -> bool:
        """Find what both blocks of a pair multiply: each its own rows of A, and the columns of B of both."""
        if self.mate is None or self.mate.trace.products:
            return False
        both = sorted((self.own, self.mate), key=lambda finder: self.finders.index(finder))
        words = {name: int(values[0]) & ALL_BITS for name, values in product.words.items()}
        halves = [finder.locate(words["b"], product.views["b"]) for finder in both]
        b = None if None in halves else _join_halves([half for half in halves if half is not None])
        for finder in both:
            operands: _Operands = {"a": finder.locate(words["a"], product.views["a"]), "b": b}
            finder.origins |= {(product.event, warp): operands for warp in range(GROUP_WARPS)}
        return True


def _join_halves(halves: Sequence[OperandOrigin]) -> OperandOrigin | None:
    """Return the halves of an operand as one; None if they are of different matrices."""
    first = halves[0]
    if any(half.box.map is not first.box.map for half in halves):
        return None
    return OperandOrigin(np.concatenate([half.rows for half in halves]), first.last, first.box)
