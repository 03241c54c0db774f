"""The four instructions that order wgmma, one row each. PTX ISA 9.1, 9.7.15.7, 9.7.15.4 and 9.7.13.4.

`diagnosed` is the message of ptxas 13.5 (with -v) if the instruction is missing; the tests compare it with ptxas.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.role import SourceReference


@dataclass(frozen=True, slots=True)
class OrderingRow:
    """One instruction: its syntax, what it orders, where it is required, and what happens without it."""

    name: str
    syntax: tuple[str, ...]
    orders: str
    where: str
    without: str
    diagnosed: str
    scope: str  # whose threads must execute it
    ptx_version: str
    target: str
    source: SourceReference


def _cite_ptx(section: str) -> SourceReference:
    return SourceReference("PTX ISA 9.1", section)


ORDER = (
    OrderingRow(
        "fence.proxy.async",
        ("fence.proxy.async;", "fence.proxy.async.shared::cta;"),
        "accesses to memory through the generic proxy (ld, st) and through the async proxy (wgmma, TMA), in both"
        " directions",
        "after the stores that fill a tile and before the barrier with the warpgroup; not for tiles written by TMA",
        "the wgmma may read the contents of shared memory from before the stores. No tool reports this, and the"
        " result is often right by chance.",
        "",
        "each thread that stored",
        "8.0",
        "sm_90",
        _cite_ptx("9.7.13.4 and 9.7.15.4"),
    ),
    OrderingRow(
        "wgmma.fence",
        ("wgmma.fence.sync.aligned;",),
        "accesses to registers, before a wgmma that uses the same registers as accumulator or as A",
        "before the first wgmma, and again after code has touched the accumulator or the registers of A; "
        "not between wgmmas of one shape that accumulate into the same registers",
        "the behavior is undefined. ptxas 13.5 does not report it; 13.0 inserted missing fences that it detected,"
        " and reported them only with -v (C7519).",
        "",
        "all 128 threads of the warpgroup",
        "8.0",
        "sm_90a",
        _cite_ptx("9.7.15.7.1"),
    ),
    OrderingRow(
        "wgmma.commit_group",
        ("wgmma.commit_group.sync.aligned;",),
        "commits all wgmmas that are not yet in a group to a new group; if there are none, the group is empty",
        "after each batch of wgmmas to wait for as one group",
        "wait_group does not wait, because the wgmmas are not in a group, and D is read too early. No tool reports"
        " this.",
        "",
        "all 128 threads of the warpgroup",
        "8.0",
        "sm_90a",
        _cite_ptx("9.7.15.7.2"),
    ),
    OrderingRow(
        "wgmma.wait_group",
        ("wgmma.wait_group.sync.aligned N;",),
        "waits until at most the N latest groups are pending; all earlier ones are complete",
        "before reading or writing D or the registers of A, and before the tiles in shared memory are overwritten",
        "the behavior is undefined. ptxas inserts a wait where it sees the accumulator used too early, which serializes"
        " the wgmmas.",
        "C7517",
        "all 128 threads of the warpgroup",
        "8.0",
        "sm_90a",
        _cite_ptx("9.7.15.7.3"),
    ),
)
BY_NAME = {row.name: row for row in ORDER}
