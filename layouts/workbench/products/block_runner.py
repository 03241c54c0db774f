"""Run a few blocks of the kernels of a text, each with the others of its cluster, and replay what they multiply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import BARRIERS, KernelRun, run_kernels
from lanescope.reader.threads.memory.tile_records import TileSetup
from lanescope.workbench.copies.box_maps import MapFinder
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_sizes import GivenSizes
from lanescope.workbench.products.product_origins import Block, BoxLister, OriginFinder
from lanescope.workbench.products.product_replay import replay_blocks
from lanescope.workbench.products.unproved_results import has_tile, list_later_blocks

BLOCKS = 16  # of the grid along x
MANY_BLOCKS = 96  # of the grid, if M, N and K differ
LOST = "its code cannot be followed to the end, so that whole tiles may have a wrong row, column or position along K"


@dataclass(frozen=True, slots=True, eq=False)
class BlockRunner:
    """Runs blocks of the kernels of a text. runs: of each kernel, the blocks of each cluster; lost: why the D of a
    kernel is open, by name; kernels: the first run of each.
    """

    source: KernelText
    macros: Mapping[str, str]
    recorded: Sequence[KernelLaunchRecord]
    given: GivenSizes | None
    maps: MapFinder
    size: int
    runs: dict[tuple[str, int], list[list[OriginFinder]]] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    kernels: dict[tuple[str, int], KernelRun] = field(default_factory=dict)

    def run_blocks(self, blocks: Iterable[Block]) -> bool:
        """Run blocks of all kernels; return whether all integers that they are given are known."""
        text = self.source.code.text
        for block in blocks:
            if self.runs and all(_is_among(block, of) for of in self.runs.values()):
                continue  # with another one of its cluster
            setup, size = self._choose_setup(block)
            branches = list(run_kernels(text, self.macros, self.recorded, BARRIERS, size, tiles=setup))
            if len(branches) != 1:
                self.lost.update((one.name, "its text has several choices of #if") for one in self.source.functions)
                return not self.runs
            if any(run.runner.unsized for run in branches[0]):
                return False
            for n, run in self._list_runs(branches[0], block):
                if _is_known(run):
                    self.kernels.setdefault((run.function.name, n), run)
                    clusters = self.runs.setdefault((run.function.name, n), [])
                    if not _is_among(run.runner.block_index, clusters):
                        clusters.append([OriginFinder(runner, self.maps) for runner in run.runners])
                elif not run.why:
                    self.lost[run.function.name] = run.runners[-1].lost or LOST
        return True

    def _list_runs(self, runs: Sequence[KernelRun], block: Block) -> Iterator[tuple[int, KernelRun]]:
        """Yield the runs, with their numbers, of the kernels whose grid, as far as it is known, has a block."""
        for n, run in enumerate(runs):
            grid = self.given.find_grid(run.runner) if self.given is not None else None
            if grid is None or all(at < size for at, size in zip(block, grid, strict=True)):
                yield n, run

    def _choose_setup(self, block: Block) -> tuple[TileSetup, tuple[int, int]]:
        """Return what a run is given: the block, the sizes of its matrices, and the blocks of the grid along x."""
        if self.given is None:
            return TileSetup(block, BoxLister(self.maps)), (self.size, BLOCKS)
        return TileSetup(block, BoxLister(self.maps), self.given.arguments, self.given.grids), (self.size, MANY_BLOCKS)

    def replay_runs(self) -> dict[tuple[str, int], list[OriginFinder]]:
        """Return the blocks of each kernel that compute, with what they multiply; none if that of one is not known."""
        found: dict[tuple[str, int], list[OriginFinder]] = {}
        for key, clusters in self.runs.items():
            every = [one for cluster in clusters for one in cluster]
            busy = [one for one in every if one.trace.loads or one.run.results]
            idle = {one.block for one in every} - {one.block for one in busy}
            known = all(_replay(cluster) for cluster in clusters if any(one in busy for one in cluster))
            found[key] = busy if known else []
            if busy and idle and "gridDim" not in self.source.blank and has_tile(min(idle), found[key]):
                self.lost[key[0]] = f"block {min(idle)} computes nothing"
        return found

    def run_later_blocks(
        self, finders: dict[tuple[str, int], list[OriginFinder]]
    ) -> dict[tuple[str, int], list[OriginFinder]]:
        """Return the blocks with those that they ask for; what is seen of these may ask for others."""
        later = {block for of in finders.values() for block in list_later_blocks(of, self.find_grid(of))}
        return self.replay_runs() if later and self.run_blocks(sorted(later)) else finders

    def find_grid(self, blocks: Sequence[OriginFinder]) -> Block | None:
        """Return the grid of the run of a kernel; None if it is not known and may decide what its blocks do."""
        if blocks and blocks[0].run.kernel in self.lost:
            return None
        known = self.given.find_grid(blocks[0].run) if self.given is not None and blocks else None
        return known or ((MANY_BLOCKS, 1, 1) if "gridDim" in self.source.blank else None)


def _replay(cluster: Sequence[OriginFinder]) -> bool:
    """Replay the blocks of a cluster, unless that was done; return whether what they do is known."""
    if any(one.run.open_outputs for one in cluster):
        return False
    return any(one.boxes for one in cluster) or replay_blocks(cluster)


def _is_among(block: Block, clusters: Iterable[Iterable[OriginFinder]]) -> bool:
    return any(one.block == block for cluster in clusters for one in cluster)


def _is_known(run: KernelRun) -> bool:
    return run.complete and all(runner.turn_counts.are_alike for runner in run.runners)


def list_blocks(text: str, given: GivenSizes | None) -> list[Block]:
    """Return the blocks that are run: in all directions of the grid, and in another row of one that is numbered."""
    grids = list(given.grids.values()) if given is not None else []
    plane = re.search(r"blockIdx\s*\.\s*y|%ctaid\.y", text)
    ends = [(max(grid[0] - 1, 1), grid[1] - 1) for grid in grids]
    ends = ends or [(43, 2) if given is not None else (1, 2) if plane else (7, 2)]
    if plane:
        blocks = [(0, 0, 0), (1, 0, 0), *((far, row, 0) for far, row in ends)]
        if "block_scale" in text and any(row > 1 for _, row in ends):
            blocks.append((0, 1, 0))  # the next rows, with other scale factors
    else:
        blocks = [(0, 0, 0), *([(1, 0, 0)] if "gridDim" not in text else []), *((far, 0, 0) for far, _ in ends)]
    deep = any(grid[2] > 1 for grid in grids)
    return [*dict.fromkeys(blocks), *([(0, 0, 1)] if deep else [])]


def list_needed(finders: Mapping[tuple[str, int], Sequence[OriginFinder]]) -> dict[str, int]:
    """Return the bytes of dynamic shared memory that the copies of each kernel fill, the least of its launches."""
    needed: dict[str, int] = {}
    for (name, _), of_kernel in finders.items():
        past = max((finder.count_dynamic_bytes() for finder in of_kernel), default=0)
        needed[name] = min(needed.get(name, past), past)
    return needed
