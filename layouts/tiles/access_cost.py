"""What the accesses of all warps to shared memory cost together."""

from __future__ import annotations

from lanescope.shared.banks import Cost


class TotalCost:
    """costs: of each different access of a warp; repeats: how often it occurs."""

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
        """The worst phase's degree of conflict; 1 is free of conflicts."""
        return max(cost.ways for cost in self.costs)
