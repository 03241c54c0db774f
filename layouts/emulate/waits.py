"""What threads wait for when a run stands still, and how every barrier stands at its end."""

from __future__ import annotations

from typing import Any

from lanescope.emulate.block import Block, Group
from lanescope.emulate.machine import Machine


def find_deadlock(machine: Machine) -> None:
    """Report what each group of threads waits for that nobody will bring."""
    for group in machine.groups:
        statement = group.frame.code.function.statements[max(0, group.pc - (group.wait is not None))]
        what = group.wait.what if group.wait else "a value that no thread changes any more"
        machine.report("deadlock", f"{_name(group)} waits for {what}, and nothing else can run", statement)


def _name(group: Group) -> str:
    warps = group.warps
    who = f"warp {warps[0]}" if len(warps) == 1 else f"warps {warps[0]}–{warps[-1]}"
    return f"{who} of CTA {','.join(map(str, group.block.index))}"


def describe_barriers(machine: Machine) -> list[dict[str, Any]]:
    """Return the barriers that somebody arrived at in a phase that has not ended."""
    return [row for cluster in machine.clusters for block in cluster.blocks for row in _list_named(block)]


def _list_named(block: Block) -> list[dict[str, Any]]:
    return [
        {
            "kind": "barrier",
            "block": list(block.index),
            "number": number,
            "phase": barrier.phase,
            "arrived": barrier.arrived,
            "expected": barrier.expected,
        }
        for number, barrier in block.barriers.items()
    ]
