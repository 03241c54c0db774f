"""Architectures: their GPUs, the PTX release of each target, and the limits of a block.

PTX releases and the limit of static shared memory: as ptxas 13.5 enforces them (tests/test_architectures.py).
Shared memory that a block may opt in to: the shared memory of an SM less the 1 KB that the system reserves for each
block (CUDA Programming Guide, compute capabilities; cuda_occupancy.h of CUDA 13.5). Oversized shared memory of
compute capability 10.7: CUDA Programming Guide 13.4; cuda.h of CUDA 13.5. Clusters: Hopper and Blackwell
tuning guides. Columns: PTX ISA, tcgen05.alloc.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.newer import format_release
from lanescope.ptx.table.substitutes import SUBSTITUTES
from lanescope.ptx.targets import TARGETS, format_targets, make_unknown_target_error, strip_suffix

KB = 1024
STATIC_SHARED_MEMORY = 48 * KB  # of a block that does not opt in, on every architecture
PORTABLE_CLUSTER = 8


@dataclass(frozen=True)
class Architecture:
    """The targets and limits of one compute capability. A limit is None if it is not documented."""

    name: str
    gpus: tuple[str, ...]
    ptx: tuple[str, str, str]  # the first release with sm_NN, sm_NNf and sm_NNa; "" for a target that does not exist
    sm_shared_memory: int  # bytes
    block_shared_memory: int | None  # bytes of one block that opts in
    cluster: int = PORTABLE_CLUSTER  # blocks, the largest that is documented; 1: no clusters
    oversized_above: int = 0  # bytes beyond which a kernel must allow oversized shared memory; 0: none are

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Return the targets of this architecture, in ptxas's order."""
        return tuple(target for target in TARGETS if strip_suffix(target) == self.name)

    def get_ptx(self, target: str) -> str:
        """Return the first PTX release that has a target."""
        return self.ptx[("", "f", "a").index(target.removeprefix(self.name))]


ARCHITECTURES = (
    Architecture("sm_75", ("T4", "RTX 20"), ("6.3", "", ""), 64 * KB, 64 * KB, 1),
    Architecture("sm_80", ("A100", "A30"), ("7.0", "", ""), 164 * KB, 163 * KB, 1),
    Architecture("sm_86", ("A10", "A40", "RTX 30"), ("7.1", "", ""), 100 * KB, 99 * KB, 1),
    Architecture("sm_87", ("Jetson Orin",), ("7.4", "", ""), 164 * KB, 163 * KB, 1),
    Architecture("sm_88", (), ("9.0", "", ""), 100 * KB, 99 * KB, 1),
    Architecture("sm_89", ("L4", "L40S", "RTX 40"), ("7.8", "", ""), 100 * KB, 99 * KB, 1),
    Architecture("sm_90", ("H100", "H200", "GH200"), ("7.8", "", "8.0"), 228 * KB, 227 * KB, 16),
    Architecture("sm_100", ("B200", "GB200"), ("8.6", "8.8", "8.6"), 228 * KB, 227 * KB, 16),
    Architecture("sm_103", ("B300", "GB300"), ("8.8", "8.8", "8.8"), 228 * KB, 227 * KB),
    Architecture("sm_107", ("Rubin",), ("9.4", "9.4", "9.4"), 328 * KB, 327 * KB, oversized_above=227 * KB),
    Architecture("sm_110", ("Jetson Thor",), ("9.0", "9.0", "9.0"), 228 * KB, 227 * KB),
    Architecture("sm_120", ("RTX 50", "RTX PRO 6000 Blackwell"), ("8.7", "8.8", "8.7"), 100 * KB, 99 * KB),
    Architecture("sm_121", ("DGX Spark", "GB10"), ("8.8", "8.8", "8.8"), 100 * KB, 99 * KB),
)
_BY_NAME = {row.name: row for row in ARCHITECTURES}


def get_architecture(target: str) -> Architecture:
    """Return the architecture of a target; LayoutError names the targets that ptxas lists."""
    if target not in TARGETS:
        raise make_unknown_target_error(target, "target")
    return _BY_NAME[strip_suffix(target)]


@lru_cache(maxsize=1)
def _index_families() -> dict[str, tuple[str, ...]]:
    """Return the families of each target, in the catalogue's order."""
    families: dict[str, set[str]] = {target: set() for target in TARGETS}
    for instruction in catalog.instructions():
        for target in catalog.get_target_support(instruction).targets:
            families[target].add(instruction.family.name)
    return {target: tuple(name for name in catalog.FAMILY_NAMES if name in names) for target, names in families.items()}


def list_families(target: str) -> tuple[str, ...]:
    """Return the families with at least one form that ptxas assembles for a target."""
    return _index_families()[target]


def has_tensor_memory(target: str) -> bool:
    """Return whether a target has tcgen05.mma, whose D lies in tensor memory."""
    return any(target in targets for targets in _index_kinds().values())


def find_substitutes(target: str, family: str) -> tuple[str, ...]:
    """Return the families of a target that can replace one that it lacks, closest first."""
    available = list_families(target)
    return tuple(name for name in SUBSTITUTES.get(family, ()) if name in available)


def list_targets_with(family: str) -> tuple[str, ...]:
    """Return the targets that have at least one form of a family."""
    return tuple(target for target, families in _index_families().items() if family in families)


@lru_cache(maxsize=1)
def _index_kinds() -> dict[str, tuple[str, ...]]:
    """Return the targets of every kind of tcgen05.mma, dense or sparse."""
    targets_of: dict[str, set[str]] = {}
    for instruction in catalog.instructions():
        if instruction.family.issue:
            targets = catalog.get_target_support(instruction).targets
            targets_of.setdefault(instruction.family.issue.kind, set()).update(targets)
    return {kind: tuple(target for target in TARGETS if target in names) for kind, names in targets_of.items()}


def list_targets_of_kind(kind: str) -> tuple[str, ...]:
    """Return the targets for which ptxas assembles a tcgen05.mma of a kind."""
    return _index_kinds()[kind]


def list_architectures_without(kind: str) -> list[str]:
    """Return the architectures that have tcgen05.mma, but not of a kind."""
    supported = {strip_suffix(target) for target in list_targets_of_kind(kind)}
    every = (strip_suffix(target) for target in TARGETS if has_tensor_memory(target))
    return [name for name in dict.fromkeys(every) if name not in supported]


def explain_missing(feature: str, targets: Iterable[str], target: str) -> tuple[str, str] | None:
    """Return (message, hint) if a target lacks a feature that `targets` have; None if it has it, or if target is ""."""
    allowed = tuple(targets)
    if not target or target in allowed:
        return None
    same = [name for name in allowed if strip_suffix(name) == strip_suffix(target)]
    hint = f"Compile for {same[0]}: the same GPU has it." if same else f"It needs {format_targets(allowed)}."
    return f"{feature} is not available on {target}.", hint


def require_instruction(instruction: Instruction, target: str) -> None:
    """Raise LayoutError where ptxas does not assemble an instruction for a target; "" is any target."""
    support = catalog.get_target_support(instruction)
    _require(instruction.ptx, support.targets, target, f" It came with {format_release(support.ptx_version)}.")


def require_kind(kind: str, target: str) -> None:
    """Raise LayoutError where a target has no tcgen05.mma of a kind; "" is any target."""
    _require(f"kind::{kind}", list_targets_of_kind(kind), target)


def _require(feature: str, targets: Iterable[str], target: str, since: str = "") -> None:
    if why := explain_missing(feature, targets, target):
        raise LayoutError("not_on_target", why[0], why[1] + since, "target")
