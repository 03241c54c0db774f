"""Code for scale factors and metadata.

Float32 factors → UE8M0 bytes → the order of atoms, in NumPy, PyTorch and CUDA C++; the copies and MMAs of a tile; the
32-bit register of mma.sync; metadata in CUTLASS's order.
"""

from __future__ import annotations

from lanescope.blackwell.scale_atoms import ATOM_FACTORS, ATOM_ROWS
from lanescope.blackwell.scaling import AtomCopy, ScaledMmaStep, ScaleOperand, format_copy_ptx
from lanescope.ptx.compressed_metadata import CompressedOrder
from lanescope.ptx.instruction import SCALES
from lanescope.ptx.pattern import FormulaWords, Pattern
from lanescope.render.template import Templates
from lanescope.render.tmem import SCALE_SIZES, render_scale_order

_PROGRAMS = Templates(__package__)
LARGEST = 254  # UE8M0 of 2^127; 255 is NaN
PER_REGISTER = 4  # factors that a 32-bit register or column holds


def render_order() -> dict[str, str]:
    """Return code from row-major float32 factors [rows][factors] to UE8M0 in atoms, padded: {"numpy", "pytorch",
    "cuda"}.
    """
    slots = SCALE_SIZES | {"largest": LARGEST}
    cuda = _PROGRAMS.fill(
        "scale_codes.cu",
        **slots,
        last_row=ATOM_ROWS - 1,
        last_column=ATOM_FACTORS - 1,
        offset=render_scale_order()["cuda"],
    )
    return {
        "numpy": _PROGRAMS.fill("scale_codes.py.in", **slots),
        "pytorch": _PROGRAMS.fill("scale_codes_torch.py.in", **slots),
        "cuda": cuda,
    }


def render_issue(side: ScaleOperand, copies: list[AtomCopy], steps: list[ScaledMmaStep]) -> str:
    """Return the code that one thread runs for a tile's factors: the copies, then each MMA with its descriptor and
    columns.
    """
    text = format_copy_ptx(side.mma)
    lines = ["// tmem: the allocation's address. smem: what the first byte given counts from, encoded (bytes >> 4)."]
    for copy in copies:
        lines.append(
            f'asm volatile("{text} [%0], %1;" :: "r"(tmem + {copy.column}), "l"({copy.descriptor}ull + smem));'
        )
    for step in steps:
        lines.append(
            f"mma(tmem, a_desc({step.k}), b_desc({step.k}), {step.word}u,"
            f" tmem + {step.columns[0]}, tmem + {step.columns[1]});"
        )
    return "\n".join(lines)


def render_register(blocks: int) -> str:
    """Return CUDA C++ for mma.sync: a lane's 32-bit scale-data register from row-major bytes, and the byte-id of a
    step.

    blocks: factors per row and instruction, the S of scale_vec::SX.
    """
    rows = {
        name: Pattern.parse(text, S=blocks).forward_formula(("row", "block"), FormulaWords("lane", "byte"))["row"]
        for name, text in SCALES.items()
    }
    steps = PER_REGISTER // blocks
    return (
        f"// factors: [rows][count] bytes, row-major; s: the first of {PER_REGISTER} factors, a multiple of"
        f" {PER_REGISTER}. One register serves {steps} step{'s' * (steps > 1)} of K.\n"
        + "".join(_PROGRAMS.fill("scale_register.cu", name=name, row=row) for name, row in rows.items())
        + "// Of the step that begins with factor s. thread-id-a and thread-id-b: any, as every lane holds its row.\n"
        f"__host__ __device__ inline unsigned byte_id(unsigned s) {{ return s % {PER_REGISTER}; }}\n"
    )


def render_metadata(layout: CompressedOrder) -> dict[str, str]:
    """Return code from row-major 4-bit indices to CUTLASS's order: {"numpy", "cuda"}."""
    words = FormulaWords("word", "index")
    forward = layout.atom.forward_formula(("row", "group"), words)
    back = layout.atom.inverse_formula(("r", "g"), words)
    down, across = layout.atom.extents
    sizes = {"down": down, "across": across, "words": layout.atom.thread_count}
    return {
        "numpy": _PROGRAMS.fill("metadata_order.py.in", **sizes, row=forward["row"], group=forward["group"]),
        "cuda": _PROGRAMS.fill("metadata_order.cu", **sizes, word=back["word"], index=back["index"]),
    }
