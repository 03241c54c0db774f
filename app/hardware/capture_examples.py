"""The example kernels of captures, each right or with a planted mistake, and their inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lanescope import find
from lanescope.app.hardware.device import Array
from lanescope.capture import fills
from lanescope.errors import LayoutError
from lanescope.ptx import codec
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction
from lanescope.render.capture_header import render_header

MISTAKES = 5  # planted by every example


# Each example is a whole kernel, although their main loops are alike: a reader follows it from load to store in one
# file, and the file and line that a capture records are the kernel's own.
@dataclass(frozen=True)
class ExampleProgram:
    """One program of examples/ and the arguments of its kernel.

    a, b: the shape in global memory; b_first: the index that B's rows have; boxes: (inner, outer) of the tensor maps of
    A and B, if any. shared: bytes of dynamic shared memory; far: the same for the mistakes that read past it. mistakes:
    a description of each, and the code that names it.
    """

    name: str
    element: str
    a: tuple[int, int]
    b: tuple[int, int]
    mistakes: tuple[tuple[str, str], ...]
    b_first: str = "n"
    box_a: tuple[int, int] = (0, 0)
    box_b: tuple[int, int] = (0, 0)
    threads: int = 128
    shared: int = 0
    far: Mapping[int, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.b[self.b_first == "k"]

    @property
    def outputs(self) -> int:
        return self.a[0] * self.n

    def count_shared_bytes(self, mistake: int) -> int:
        """Return the bytes of dynamic shared memory of a launch."""
        return self.far.get(mistake, self.shared)

    def render_source(self) -> str:
        """Render the program with its includes inserted; #line directives keep the file and number of each line."""
        return "".join(_expand_lines(f"{self.name}.cu"))


EXAMPLES = (
    ExampleProgram(
        "wgmma_tma_k_major",
        "bf16",
        (64, 128),
        (128, 128),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step past the swizzle atom", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of A in B", "panel_stride_wrong"),
        ),
        box_a=(64, 64),
        box_b=(64, 128),
        shared=2 * 8192 + 2 * 16384 + 16,
    ),
    ExampleProgram(
        "wgmma_mn_major_b",
        "bf16",
        (64, 64),
        (64, 128),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step of a K-major tile", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of one instruction", "panel_stride_from_instruction"),
        ),
        b_first="k",
        box_a=(64, 64),
        box_b=(64, 64),
        shared=8192 + 16384 + 16,
        far={3: 72 << 10, 4: 72 << 10},
    ),
    ExampleProgram(
        "wgmma_core_matrices",
        "f16",
        (64, 64),
        (64, 64),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step of a swizzled tile", "k_advance_past_atom"),
            ("128B swizzle of data without one", "swizzle_mode"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of a taller tile", "panel_stride_wrong"),
        ),
        shared=2 * 8192,
    ),
    ExampleProgram(
        "ldmatrix_padded",
        "f16",
        (16, 64),
        (8, 64),
        (
            ("matrices 1 and 2 exchanged", "matrices_exchanged"),
            ("K step in elements", "k_step_in_elements"),
            ("swizzled addresses of plain rows", "swizzle_mode"),
            (".trans", "wrong_transpose"),
            ("pitch without the padding", "pitch_wrong"),
        ),
        threads=32,
        shared=24 * 144,
    ),
    ExampleProgram(
        "wgmma_fp8_a_registers",
        "e4m3",
        (64, 256),
        (64, 256),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step past the swizzle atom", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("registers 1 and 2 of A exchanged", "registers_exchanged"),
            ("half the panel stride", "panel_stride_wrong"),
        ),
        box_b=(128, 64),
        shared=2 * 8192 + 16,
    ),
)


BY_NAME = {example.name: example for example in EXAMPLES}


def find_newest_instruction() -> Instruction:
    """Find the newest instruction of the examples."""
    return find("wgmma.mma_async.m64n64k16.f32.f16.f16")


def find_examples() -> Path:
    """Find the folder of the examples; LayoutError if they are not installed."""
    app = Path(__file__).parents[1]
    folder = next((path for path in (app / "examples", app.parent / "examples") if path.is_dir()), None)
    if folder is None:
        raise LayoutError("no_examples", "The examples are not installed.", "Run this in the repository.")
    return folder


def _expand_lines(name: str) -> Iterator[str]:
    text = render_header() if name == "lanescope.cuh" else (find_examples() / name).read_text()
    yield f'#line 1 "{name}"\n'
    for number, line in enumerate(text.splitlines(), 1):
        included = re.fullmatch(r'#include "([\w.]+)"', line)
        if included and not line.endswith('.h"'):
            yield from _expand_lines(included[1])
            yield f'#line {number + 1} "{name}"\n'
        elif line != "#pragma once":
            yield line + "\n"


def render_program(example: ExampleProgram, mistake: int, recorded: bool = True) -> str:
    """Render the text that NVRTC compiles; a static_assert compares its shared memory with that of the launch."""
    size_check = f'static_assert(SHARED_BYTES == {example.count_shared_bytes(mistake)}, "size of the launch");\n'
    return f"#define LANESCOPE {int(recorded)}\n#define MISTAKE {mistake}\n{example.render_source()}{size_check}"


@dataclass(frozen=True)
class ExampleData:
    """A and B as codes in global memory's order. part: the pass of a fill, or 0 for real data."""

    a: Array
    b: Array
    part: int


def make_fills(example: ExampleProgram, part: int) -> ExampleData:
    """Make matrices whose elements identify themselves."""
    a = fills.matrix(example.a, example.element, "a", part)
    b = fills.matrix(example.b, example.element, "b", part, nk=example.b_first == "n")
    return ExampleData(a, b, part)


def make_random(example: ExampleProgram) -> ExampleData:
    """Make matrices of small whole numbers, whose products are exact."""
    rng = np.random.default_rng(17)
    kind = f"<u{get_dtype(example.element).bits // 8}"
    a, b = (
        codec.encode_values(rng.integers(-8, 9, shape), example.element).astype(kind)
        for shape in (example.a, example.b)
    )
    return ExampleData(a, b, 0)


def compute_product(example: ExampleProgram, data: ExampleData) -> Array:
    """Compute D by NumPy: float64 [m, n]."""
    a, b = (codec.decode_bits(codes.astype(np.uint64), example.element) for codes in (data.a, data.b))
    return np.asarray(a @ (b if example.b_first == "k" else b.T))
