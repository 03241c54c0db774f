"""Convergence of a warp: which groups of threads merge, and which wait for others of their warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lanescope.emulate.state.block import Group, NotConvergedError, Wait, simplify

if TYPE_CHECKING:
    from lanescope.emulate.machine import Machine


def wait_for_convergence(machine: Machine, group: Group, error: NotConvergedError) -> bool:
    """Suspend the threads whose warp is incomplete; return whether that is the complete group."""
    stays = np.isin(group.ids, error.ids)
    waiting = group
    if not stays.all():
        waiting = group.select(stays)
        group.threads = simplify(group.ids[~stays])
        machine.groups.append(waiting)
    block, missing = group.block, error.missing
    lanes = ", ".join(str(int(thread) % 32) for thread in missing[:8]) + ", …" * (len(missing) > 8)
    waiting.wait = Wait(
        "convergence",
        f"{'lane' if len(missing) == 1 else 'lanes'} {lanes} of warp {int(missing[0]) // 32}",
        lambda: not block.live[missing].any(),
        {"missing": missing.tolist(), "aligned": error.aligned},
    )
    return waiting is group


def list_stops(machine: Machine, group: Group) -> frozenset[int]:
    """Return the statements of the other groups that may join this one."""
    return frozenset(
        other.pc
        for other in machine.groups
        if other is not group and other.frame is group.frame and _may_join(machine, other, group)
    )


def _may_join(machine: Machine, first: Group, second: Group) -> bool:
    if first.block is not second.block or first.stack != second.stack:
        return False
    return not machine.schedule.by_warp or first.first // 32 == second.first // 32


def join_groups(machine: Machine, group: Group) -> Group:
    """Merge all groups at this group's statement; return the merged group."""
    same = [
        other
        for other in machine.groups
        if other.pc == group.pc
        and other.frame is group.frame
        and (
            other is group
            or ((other.wait is None or other.wait.kind == "convergence") and _may_join(machine, other, group))
        )
    ]
    if len(same) == 1:
        return group
    group.threads = simplify(np.sort(np.concatenate([member.ids for member in same])))
    group.wait = None
    group.yields = max(member.yields for member in same)
    for other in same:
        if other is not group:
            machine.groups.remove(other)
    return group
