"""The total cost of the accesses of all warps to shared memory."""

from __future__ import annotations

from lanescope.shared.banks import Cost


class TotalCost:
    """A base class. costs: of each distinct access of a warp; repeats: the number of its occurrences."""

    __slots__ = ()
    costs: tuple[Cost, ...]
    repeats: tuple[int, ...]

    @property
    def wavefronts(self) -> int:
        return sum(cost.wavefronts * times for cost, times in zip(self.costs, self.repeats, strict=True))

    @property
    def ideal(self) -> int:
        return sum(cost.ideal * times for cost, times in zip(self.costs, self.repeats, strict=True))

    @property
    def ways(self) -> int:
        """The degree of conflict of the worst phase; 1 means no conflicts."""
        return max(cost.ways for cost in self.costs)
