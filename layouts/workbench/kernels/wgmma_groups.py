"""The wgmma of a kernel that may still run, by the groups that they were committed in: PTX ISA 9.1, 9.7.15.7."""

from __future__ import annotations

from typing import Generic, TypeVar

from lanescope.workbench.kernels.kernel_runs import KernelEvent

_Product = TypeVar("_Product")


class RunningProducts(Generic[_Product]):
    """The products that may run at an event: `loose` ones, in no group yet, and groups, the oldest first.

    waits: the waits since code whose effect is not known.
    """

    def __init__(self) -> None:
        self.loose: list[_Product] = []
        self.groups: list[list[_Product]] = []
        self.waits: list[KernelEvent] = []

    @property
    def grouped(self) -> list[_Product]:
        return [product for group in self.groups for product in group]

    def follow(self, kind: str, event: KernelEvent) -> None:
        """Follow an event that issues no product: commit, wait, or unknown, which may do both."""
        if kind == "commit":
            self.groups.append(self.loose)
            self.loose = []
        elif kind == "unknown" or (kind == "wait" and event.count is None):
            self.loose, self.groups, self.waits = [], [], []
        elif kind == "wait":
            self.groups = self.groups[-event.count :] if event.count else []
            self.waits.append(event)

    def find_last_wait(self, product: KernelEvent) -> KernelEvent | None:
        """Return the last wait after a product; None if there is none."""
        return next((wait for wait in reversed(self.waits) if wait.order > product.order), None)


def describe_short_wait(wait: str, count: int | None, used: str) -> str:
    """Describe a wait that leaves `count` groups pending although the accumulators of one are used after it."""
    return f"{describe_pending(wait, count)}, and {used} is used after it. Wait for 0."


def describe_pending(wait: str, count: int | None) -> str:
    """Describe what a wait leaves pending."""
    groups = "the last group" if count == 1 else f"the last {count} groups"
    return f"{wait} lets {groups} stay pending"


def describe_missing_fence(kernel: str) -> str:
    return (
        f"{kernel} issues its first wgmma.mma_async without a wgmma.fence.sync.aligned before it: the accesses to its"
        " registers before it are not ordered. It belongs before this."
    )


def describe_missing_commit(why: str) -> str:
    return f"A wgmma.commit_group is missing before this: the wgmma before it are in no group, {why}."


def describe_missing_wait(used: str) -> str:
    return (
        f"{used} is used while the wgmma that writes it may be running: no wgmma.wait_group waits for its group before."
        " It belongs before this."
    )
