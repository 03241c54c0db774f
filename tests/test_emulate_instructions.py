"""Every integer, float, conversion, comparison and warp instruction does what an H100 did with the same registers.

tests/golden/emulated/instructions.npz.xz holds statements, the registers they read in 64 threads (random numbers and
the limits of every type: zeros, subnormals, infinities, NaNs, ties) and what the device left. ptxas accepted each.
"""

from __future__ import annotations

import io
import json
import lzma
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.cases import for_each
from tests.emulated_kernels import run_text
from tests.emulated_statements import THREADS, Case, write_kernel

EVIDENCE = Path(__file__).parent / "golden" / "emulated" / "instructions.npz.xz"


@lru_cache(maxsize=1)
def read_evidence() -> tuple[list[Case], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return statements (text, type of the result, types of the operands, number of their values), values, results."""
    with np.load(io.BytesIO(lzma.decompress(EVIDENCE.read_bytes()))) as arrays:
        return json.loads(arrays["cases"].tobytes()), arrays["inputs"], arrays["results"]


def get_name(text: str) -> str:
    """Return the instruction that a case is about: the last opcode that is no helper."""
    words = [part.split()[0] for part in text.strip("{} ").replace("L:", "").split(";") if part.strip()]
    return (
        [word.split(".")[0] for word in words if not word.startswith((".", "@", "mov.", "setp.gt", "setp.ge.u32"))][-1]
        if len(words) > 1
        else words[0].split(".")[0]
    )


def list_names() -> list[str]:
    return sorted({get_name(case[0]) for case in read_evidence()[0]})


@for_each("name", list_names())
def test_results_equal_the_devices(name: str) -> None:
    cases, inputs, results = read_evidence()
    by_values: dict[int, list[int]] = defaultdict(list)
    for number, case in enumerate(cases):
        if get_name(case[0]) == name:
            by_values[case[3]].append(number)
    for values, numbers in by_values.items():
        out = np.zeros((len(numbers), THREADS), np.uint64)
        machine = run_text(
            write_kernel([cases[number] for number in numbers]), [inputs[values].copy(), out], block=(THREADS, 1, 1)
        )
        assert machine.status == "finished", machine.findings
        for number, own in zip(numbers, out, strict=True):
            np.testing.assert_array_equal(own, results[number], err_msg=cases[number][0])
