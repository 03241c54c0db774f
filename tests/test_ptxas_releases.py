"""What `make isa` prints: the differences of two recorded sweeps, and a sweep of the ptxas that is installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanescope.ptx.targets import TARGETS
from tests.ptxas import assembler
from tests.ptxas.releases import Release, TargetLimit, compare_releases

KB = 1024
OLD = Release(
    "ptxas V13.0.88",
    {
        "ldmatrix.m8n8.x1.b16": (("sm_75", "sm_90"), "6.5"),
        "mma.m16n8k16.f16": (("sm_90",), "7.0"),
        "mma.m16n8k4.u4": (("sm_75",), "7.0"),
    },
    {"sm_75": TargetLimit("6.3", 48 * KB), "sm_90": TargetLimit("7.8", 48 * KB)},
)
NEW = Release(
    "ptxas V13.5.37",
    {
        "ldmatrix.m8n8.x1.b16": (("sm_75", "sm_90"), "6.5"),
        "mma.m16n8k16.f16": (("sm_90", "sm_107a"), "7.0"),
        "mma.m16n8k64.e2m1": (("sm_107a",), "9.4"),
    },
    {
        "sm_75": TargetLimit("6.3", 48 * KB),
        "sm_90": TargetLimit("7.8", 227 * KB),
        "sm_107a": TargetLimit("9.4", 227 * KB),
    },
)


def test_two_sweeps_differ_in_forms_targets_and_limits() -> None:
    assert list(compare_releases(OLD, NEW)) == [
        "ptxas V13.0.88 → ptxas V13.5.37: 1 forms added, 1 dropped, 1 changed; 1 targets added, 0 dropped",
        "+ target sm_107a: PTX 9.4, 232448 bytes of static shared memory",
        "~ target sm_90: PTX 7.8, 49152 bytes → PTX 7.8, 232448 bytes",
        '+ "mma.m16n8k64.e2m1": PTX 9.4, sm_107a',
        '- "mma.m16n8k4.u4": PTX 7.0, sm_75',
        '~ "mma.m16n8k16.f16": +sm_107a',
    ]


def test_a_later_first_release_is_a_change() -> None:
    later = replace(OLD, variants={**OLD.variants, "mma.m16n8k16.f16": (("sm_90",), "7.1")})
    assert list(compare_releases(OLD, later))[1:] == ['~ "mma.m16n8k16.f16": PTX 7.0 → 7.1']


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_the_installed_ptxas_lists_the_targets_of_the_table() -> None:
    assert set(assembler.list_targets()) == set(TARGETS)
