"""A persistent kernel goes on with the stage at which the tile before ended: its reads are verified, too."""

from __future__ import annotations

from tests.checked import check_text
from tests.transfer_kernels import TMA

_SUM = "  float d[64] = {};\n"
_TURN_END = "    __syncthreads();\n  }\n"
_STAGED = TMA.replace(_SUM, _SUM + "  for (int i = 0; i < M / BM; i += gridDim.x)\n")
_COUNTED = (
    _STAGED.replace(_SUM, _SUM + "  int slot = 0, phase = 0;\n")
    .replace("    int slot = t % STAGES;\n", "")
    .replace("(t / STAGES) & 1", "phase")
    .replace(_TURN_END, "    if (++slot == STAGES) { slot = 0; phase ^= 1; }\n" + _TURN_END)
)


def plant_step(text: str, offset: str) -> str:
    right = "make_smem_desc(sB + slot * BN * BK + k * 16)"
    assert text.count(right) == 1
    return text.replace(right, f"make_smem_desc(sB + {offset})")


def test_every_tile_of_a_persistent_kernel_is_verified() -> None:
    """The first tile has turns at stages 0, 1 and 2; the second begins at a stage that nobody knows."""
    answer = check_text(_COUNTED)
    assert not answer.findings and not answer.unverified
    assert answer.steps > check_text(TMA).steps > 0


def test_a_step_that_is_open_is_no_stage() -> None:
    """What differs between the K steps of one turn is not a stage, even if its factor is that of the stages."""
    wide = _COUNTED.replace("int N, int K) {\n  extern", "int N, int K, bool wide) {\n  extern")
    answer = check_text(plant_step(wide, "slot * BN * BK + k * (wide ? 16 : 8)"))
    assert not answer.findings and sum(reads.count for reads in answer.unverified) >= 9


def test_a_wrong_distance_of_stages_is_not_verified() -> None:
    answer = check_text(plant_step(_COUNTED, "slot * BM * BK + k * 16"))
    assert answer.findings or answer.unverified
    assert answer.steps < check_text(_COUNTED).steps
