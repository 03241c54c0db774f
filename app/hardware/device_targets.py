"""What the architecture of a device allows: the target to compile for, and the instructions that it has."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import format_targets, get_widest, strip_suffix


def get_compile_target(info: Mapping[str, str]) -> str:
    """Return the architecture to compile for: sm_90a for Hopper, so that wgmma exists, sm_110a for tcgen05."""
    return get_widest(format_architecture(info))


def format_architecture(info: Mapping[str, str]) -> str:
    """Format a device's architecture as a fleet announces it: sm_90, without the letter."""
    return "sm_" + info["compute_capability"].replace(".", "")


def explain_unsupported(target: str, instruction: Instruction) -> str:
    """Return why a target lacks an instruction, "" if it has it."""
    from lanescope.ptx import catalog

    targets = catalog.get_target_support(instruction).targets
    if {target, strip_suffix(target)} & set(targets):
        return ""
    return f"{instruction.ptx} does not assemble for this device's {target}; it needs {format_targets(targets)}."
