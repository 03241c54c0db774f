"""Instruction sequences around a wgmma as PTX: correct ones, and ones with an instruction missing.

The tests assemble each of them. `diagnosed`: the number of the message that ptxas 13.5 -v prints, "" for none.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.table.wgmma_order import BY_NAME as ROWS

_OPCODE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
_FENCE, _COMMIT, _WAIT, _PROXY = (
    ROWS[name].syntax[0] for name in ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "fence.proxy.async")
)
_SHARED = f"{_OPCODE} {{d0, d1, d2, d3}}, descA, descB, 1, 1, 1, 0, 0;"
_OTHER = f"{_OPCODE} {{e0, e1, e2, e3}}, descA, descB, 1, 1, 1, 0, 0;"
_REGISTERS = f"{_OPCODE} {{d0, d1, d2, d3}}, {{a0, a1, a2, a3}}, descB, 1, 1, 1, 0;"


def _format_wait(n: int) -> str:
    return _WAIT.replace(" N;", f" {n};")


@dataclass(frozen=True, slots=True)
class OrderPattern:
    """A sequence of instructions, each with the reason for it."""

    name: str
    title: str
    lines: tuple[tuple[str, str], ...]
    diagnosed: str = ""

    @property
    def right(self) -> bool:
        return not self.name.startswith("no-")

    @property
    def text(self) -> str:
        """The lines with their comments, for a page."""
        width = max(len(code) for code, _ in self.lines if len(code) < 48)
        return "".join(f"{code.ljust(width)}  // {why}\n" if why else f"{code}\n" for code, why in self.lines)


PATTERNS = (
    OrderPattern(
        "shared-a",
        "A and B in shared memory",
        (
            ("st.shared.b32 [tile], new;", "fill the tiles through the generic proxy"),
            (_PROXY, "make the stores visible to the async proxy"),
            ("bar.sync 0;", "everyone has stored and fenced"),
            (_FENCE, "orders earlier accesses to d0-d3"),
            (_SHARED, ""),
            (_SHARED, ""),
            (_COMMIT, "both wgmmas are one group; no fence between them: same shape, same accumulator"),
            (_format_wait(0), "now d0-d3 may be read, and the tiles overwritten"),
            ("add.f32 d0, d0, d0;", "the epilogue"),
        ),
    ),
    OrderPattern(
        "registers-a",
        "A in registers",
        (
            (_FENCE, "orders earlier accesses to a0-a3 and d0-d3"),
            (_REGISTERS, ""),
            (_COMMIT, ""),
            (_format_wait(0), "a0-a3 are read until here: overwriting them earlier is undefined"),
            ("mov.b32 a0, new;", "the next fragment of A"),
            (_FENCE, "a0 has been written"),
            (_REGISTERS, ""),
            (_COMMIT, ""),
            (_format_wait(0), ""),
        ),
    ),
    OrderPattern(
        "pipelined",
        "Two accumulators in flight",
        (
            (_FENCE, "orders earlier accesses to d0-d3 and e0-e3"),
            (_SHARED, ""),
            (_COMMIT, "group 1"),
            (_OTHER, ""),
            (_COMMIT, "group 2"),
            (_format_wait(1), "at most one group is pending: group 1 is complete"),
            ("add.f32 d0, d0, d0;", "d0-d3 may be used while group 2 runs"),
            (_format_wait(0), "now e0-e3, too"),
            ("add.f32 e0, e0, e0;", ""),
        ),
    ),
    OrderPattern(
        "empty-groups",
        "An empty group counts",
        (
            (_FENCE, ""),
            (_SHARED, ""),
            (_COMMIT, "group 1"),
            (_COMMIT, "group 2 is empty: a stage that had nothing to do"),
            (_format_wait(1), "group 1 is complete, so the depth of a pipeline stays the same in its last rounds"),
            ("add.f32 d0, d0, d0;", ""),
            (_format_wait(0), "before the kernel ends"),
        ),
    ),
    OrderPattern(
        "no-fence",
        "Without wgmma.fence",
        ((_SHARED, "d0-d3 were written just before"), (_COMMIT, ""), (_format_wait(0), "")),
    ),
    OrderPattern(
        "no-fence-again",
        "Without the second wgmma.fence",
        (
            (_FENCE, ""),
            (_SHARED, ""),
            (_COMMIT, ""),
            (_format_wait(0), ""),
            ("add.f32 d0, d0, d0;", "d0 is written by other code"),
            (_SHARED, "a fence is due before this"),
            (_COMMIT, ""),
            (_format_wait(0), ""),
        ),
    ),
    OrderPattern(
        "no-commit",
        "Without wgmma.commit_group",
        ((_FENCE, ""), (_SHARED, "in no group"), (_format_wait(0), "waits for no group: d0-d3 may not be there yet")),
    ),
    OrderPattern(
        "no-wait",
        "Read before wait_group",
        ((_FENCE, ""), (_SHARED, ""), (_COMMIT, ""), ("add.f32 d0, d0, d0;", "too early"), (_format_wait(0), "")),
        "C7517",
    ),
    OrderPattern(
        "no-wait-far-enough",
        "wait_group 1 where 0 is due",
        (
            (_FENCE, ""),
            (_SHARED, ""),
            (_COMMIT, "group 1"),
            (_OTHER, ""),
            (_COMMIT, "group 2"),
            (_format_wait(1), "group 2 may be pending"),
            ("add.f32 e0, e0, e0;", "too early"),
            (_format_wait(0), ""),
        ),
        "C7514",
    ),
)
BY_NAME = {pattern.name: pattern for pattern in PATTERNS}
