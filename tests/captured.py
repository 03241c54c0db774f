"""The captures of an H200 in tests/golden/captures, the mistakes that were planted in them, and the table of
docs/capture.md that says what the verifier names: `python -m tests.captured` writes it.
"""

from __future__ import annotations

import io
import tarfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.gpu.captures import BY_NAME, EXAMPLES, MISTAKES
from layouts import capture, causes
from layouts.capture.verify import Verified

FOLDER = Path(__file__).parent / "golden" / "captures"
DOCS = Path(__file__).parents[1] / "docs" / "capture.md"
BEGIN, END = "<!-- captures -->", "<!-- /captures -->"
# example → what each mistake is, and the code that names it
PLANTED: dict[str, tuple[tuple[str, str], ...]] = {
    "wgmma_tma_k_major": (
        ("LBO and SBO exchanged", "lbo_sbo_swapped"), ("K step past the swizzle atom", "k_advance_past_atom"),
        ("TMA's swizzle code", "tma_swizzle_enum"), ("transpose flag of B", "wrong_transpose"),
        ("panel stride of A in B", "panel_stride_wrong"),
    ),
    "wgmma_mn_major_b": (
        ("LBO and SBO exchanged", "lbo_sbo_swapped"), ("K step of a K-major tile", "k_advance_past_atom"),
        ("TMA's swizzle code", "tma_swizzle_enum"), ("transpose flag of B", "wrong_transpose"),
        ("panel stride of one instruction", "panel_stride_from_instruction"),
    ),
    "wgmma_core_matrices": (
        ("LBO and SBO exchanged", "lbo_sbo_swapped"), ("K step of a swizzled tile", "k_advance_past_atom"),
        ("128B swizzle of data without one", "swizzle_mode"), ("transpose flag of B", "wrong_transpose"),
        ("panel stride of a taller tile", "panel_stride_wrong"),
    ),
    "ldmatrix_padded": (
        ("matrices 1 and 2 exchanged", "matrices_exchanged"), ("K step in elements", "k_step_in_elements"),
        ("swizzled addresses of plain rows", "swizzle_mode"), (".trans", "wrong_transpose"),
        ("pitch without the padding", "pitch_wrong"),
    ),
    "wgmma_fp8_a_registers": (
        ("LBO and SBO exchanged", "lbo_sbo_swapped"), ("K step past the swizzle atom", "k_advance_past_atom"),
        ("TMA's swizzle code", "tma_swizzle_enum"), ("registers 1 and 2 of A exchanged", "registers_exchanged"),
        ("half the panel stride", "panel_stride_wrong"),
    ),
}  # fmt: skip


@lru_cache(maxsize=1)
def files() -> dict[str, bytes]:
    """What the program wrote on the device, by file name."""
    with tarfile.open(FOLDER / "captures.tar.xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def fills_of(example: str, mistake: int) -> list[bytes]:
    """The captures of one run with fills: one file, or the two passes of an 8-bit type."""
    names = sorted(name for name in files() if name.startswith(f"{example}-{mistake}-fill"))
    return [files()[name] for name in names]


def matrix(example: str, operand: str) -> np.ndarray:
    return np.load(io.BytesIO(files()[f"{example}-{operand}.npy"]))


@lru_cache(maxsize=64)
def verified(example: str, mistake: int, real: bool = False) -> Verified:
    if not real:
        return capture.verify(fills_of(example, mistake))
    raw = files()[f"{example}-{mistake}-real.lscap"]
    return capture.verify(raw, matrix(example, "a"), matrix(example, "b"), nk=BY_NAME[example].b_first == "n")


def named(told: Verified) -> list[str]:
    """The codes of all wrong steps."""
    return sorted({cause.code for step in told.wrong for cause in step.causes})


def table() -> str:
    """The table of docs/capture.md."""
    lines = ["| Example | Planted | Wrong steps | Named | First wrong step |", "| --- | --- | --- | --- | --- |"]
    good = 0
    for example in EXAMPLES:
        for mistake in range(MISTAKES + 1):
            told = verified(example.name, mistake)
            planted, code = PLANTED[example.name][mistake - 1] if mistake else ("nothing", "")
            says = [causes.title(one) for one in named(told)]
            good += named(told) == ([code] if mistake else []) and told.ok == (mistake == 0)
            first = told.first_wrong
            at = "" if first is None else f"{first.index}, `{first.record.where}`"
            cells = (
                f"`{example.name}`",
                planted,
                f"{len(told.wrong)} of {len(told.steps)}",
                ", ".join(says) or "right",
                at,
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"{good} of {len(EXAMPLES) * (MISTAKES + 1)} are named as they were planted.", "", *lines])


def written(text: str) -> str:
    """A page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    DOCS.write_text(written(DOCS.read_text()))
