"""A main loop and its bank conflicts as lines of text."""

from __future__ import annotations

from lanescope.app.tiles.main_loop_facts import LoopAccess, LoopBanks, LoopFacts


def format_loop(loop: LoopFacts) -> list[str]:
    """Return the lines of the command."""
    out = [f"{loop.verdict}: {loop.wavefronts} wavefronts of shared memory, {loop.ideal} ideal, {loop.mma} mma"]
    out += [
        f"  {stage.operand} {stage.stage:6} {stage.access:15} {stage.count} {stage.units}, {stage.ideal} ideal"
        for stage in loop.stages
    ]
    for name, operand in (("a", loop.a), ("b", loop.b)):
        wrong = next((step for step in operand.steps if step.first_wrong), None) if operand else None
        if wrong and (first := wrong.first_wrong):
            got = f"({first.reads[0]},{first.reads[1]})" if first.reads else "nothing stored"
            out.append(
                f"  {name} warp {wrong.warp} K iteration {wrong.step}: {wrong.wrong} wrong, thread {first.thread}"
                f" value {first.value} should be ({first.row},{first.k}) and reads {got}"
            )
        if operand and operand.fault:
            out.append(f"  {name} {operand.fault}")
        if operand and operand.swizzle:
            out.append(f"  {name} {operand.swizzle} on byte addresses leaves its store and load without bank conflicts")
    if total := loop.whole:
        out.append(
            f"  K = {total.k}: {total.tiles} tiles, {total.wavefronts} wavefronts, {total.ideal} ideal, {total.mma} mma"
        )
        out += [
            f"  {stage.operand} {stage.stage:6} {stage.count} {stage.units}, {stage.ideal} ideal"
            for stage in total.stages
        ]
    return out + [f"  {note}" for note in loop.notes]


def format_banks(found: LoopBanks) -> list[str]:
    """Return the cost of the accesses as lines; equal costs share a line."""
    out = [f"{found.wavefronts} wavefronts, {found.ideal} without conflicts"]
    seen: dict[tuple[str, str, str, int, int, int], list[LoopAccess]] = {}
    for row in found.accesses:
        key = (row.operand, row.stage, row.access, row.accesses, row.wavefronts, row.ideal)
        seen.setdefault(key, []).append(row)
    for (operand, stage, access, count, wavefronts, ideal), rows in seen.items():
        first = rows[0]
        warps = (
            "all warps"
            if first.warp is None
            else f"{len(rows)} × (warp, K iteration), the first ({first.warp}, {first.step})"
        )
        out.append(
            f"  {operand} {stage:6} {access:15} {count} accesses, {wavefronts} wavefronts, {ideal} ideal: {warps}"
        )
    out += [
        f"  {name} {text} on byte addresses leaves its store and load without bank conflicts"
        for name, text in found.swizzle.items()
        if text
    ]
    return out + [f"  {fault}" for fault in found.faults]
