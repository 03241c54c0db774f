"""Code for scale factors: float32 factors → UE8M0 bytes → the order of atoms, in NumPy, PyTorch and CUDA C++; the
copies and MMAs of a tile; the 32-bit register of mma.sync. And metadata in CUTLASS's order.
"""

from __future__ import annotations

from lanescope.blackwell.scales import COLUMNS, GROUPS, ROWS
from lanescope.blackwell.scaling import AtomCopy, ScaledMmaStep, ScaleOperand, format_copy_ptx
from lanescope.ptx.compressed_metadata import CompressedOrder
from lanescope.ptx.instruction import SCALES
from lanescope.ptx.pattern import FormulaWords, Pattern
from lanescope.render.tmem import render_scale_order

LARGEST = 254  # UE8M0 of 2^127; 255 is NaN
PER_REGISTER = 4  # factors that a 32-bit register or column holds


def render_order() -> dict[str, str]:
    """Return code from row-major float32 factors [rows][factors] to UE8M0 in atoms, padded: {"numpy", "pytorch",
    "cuda"}.
    """
    chunks = ROWS // GROUPS
    return {
        "numpy": (
            "import numpy as np\n\n\n"
            "def ue8m0(factors):  # positive float32 → the least power of two not below, as its biased exponent\n"
            "    bits = np.ascontiguousarray(factors, np.float32).view(np.uint32)\n"
            "    exponent = (bits >> 23 & 0xFF) + ((bits & 0x7FFFFF) != 0)\n"
            f"    return np.minimum(exponent, {LARGEST}).astype(np.uint8)\n\n\n"
            "def to_atoms(codes):  # uint8 [rows][factors] → bytes; atoms along K first\n"
            "    rows, count = codes.shape\n"
            f"    padded = np.pad(codes, ((0, -rows % {ROWS}), (0, -count % {COLUMNS})))\n"
            f"    tiles = padded.reshape(-1, {chunks}, {GROUPS}, padded.shape[1] // {COLUMNS}, {COLUMNS})\n"
            "    return tiles.transpose(0, 3, 2, 1, 4).reshape(-1)\n\n\n"
            "def words(codes):  # uint8 [rows][factors] → uint32: factor s of four in bits 8s to 8s + 7\n"
            "    return np.ascontiguousarray(codes).view('<u4')\n"
        ),
        "pytorch": (
            "import torch\n\n\n"
            "def ue8m0(factors):  # positive float32 → the least power of two not below, as its biased exponent\n"
            "    bits = factors.contiguous().view(torch.int32)\n"
            "    exponent = (bits >> 23 & 0xFF) + ((bits & 0x7FFFFF) != 0)\n"
            f"    return exponent.clamp(max={LARGEST}).to(torch.uint8)\n\n\n"
            "def to_atoms(codes):  # uint8 [rows, factors] → bytes; atoms along K first\n"
            "    rows, count = codes.shape\n"
            f"    padded = torch.nn.functional.pad(codes, (0, -count % {COLUMNS}, 0, -rows % {ROWS}))\n"
            f"    tiles = padded.view(-1, {chunks}, {GROUPS}, padded.shape[1] // {COLUMNS}, {COLUMNS})\n"
            "    return tiles.permute(0, 3, 2, 1, 4).reshape(-1)\n"
        ),
        "cuda": (
            "// The least power of two not below a positive x, as UE8M0.\n"
            "__host__ __device__ inline unsigned char ue8m0(float x) {\n"
            "  unsigned bits;\n  memcpy(&bits, &x, 4);\n"
            "  const unsigned exponent = (bits >> 23 & 0xFF) + ((bits & 0x7FFFFF) != 0);\n"
            f"  return exponent < {LARGEST} ? exponent : {LARGEST};\n}}\n"
            + render_scale_order()["cuda"]
            + "\n__global__ void to_atoms(const float* factors, unsigned char* atoms, unsigned rows, unsigned count)"
            " {\n"
            f"  const unsigned wide = (count + {COLUMNS - 1}) / {COLUMNS} * {COLUMNS};\n"
            f"  const unsigned all = (rows + {ROWS - 1}) / {ROWS} * {ROWS} * wide;\n"
            "  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {\n"
            "    const unsigned m = i / wide, s = i % wide;\n"
            "    atoms[scale_offset(m, s, wide)] = m < rows && s < count ? ue8m0(factors[m * count + s]) : 0;\n"
            "  }\n}\n"
        ),
    }


def render_issue(side: ScaleOperand, copies: list[AtomCopy], steps: list[ScaledMmaStep]) -> str:
    """Return what one thread issues for the factors of a tile: the copies, then each MMA with its word and columns."""
    text = format_copy_ptx(side.mma)
    lines = ["// tmem: the allocation's address. smem: where the factors begin, encoded (bytes >> 4)."]
    for one in copies:
        lines.append(f'asm volatile("{text} [%0], %1;" :: "r"(tmem + {one.column}), "l"({one.descriptor}ull + smem));')
    for step in steps:
        lines.append(
            f"mma(tmem, a_desc({step.k}), b_desc({step.k}), {step.word}u,"
            f" tmem + {step.columns[0]}, tmem + {step.columns[1]});"
        )
    return "\n".join(lines)


def render_register(blocks: int) -> str:
    """Return CUDA C++ for mma.sync: a lane's 32-bit scale-data register from row-major bytes, and the byte-id of a
    step.

    blocks: factors a row and instruction, S of scale_vec::SX.
    """
    rows = {
        name: Pattern.parse(text, S=blocks).forward_formula(("row", "block"), FormulaWords("lane", "byte"))["row"]
        for name, text in SCALES.items()
    }
    steps = PER_REGISTER // blocks
    return (
        f"// factors: [rows][count] bytes, row-major; s: the first of {PER_REGISTER} factors, a multiple of"
        f" {PER_REGISTER}. One register serves {steps} step{'s' * (steps > 1)} of K.\n"
        + "".join(
            f"__host__ __device__ inline unsigned {name}(const unsigned char* factors, unsigned lane, unsigned first,"
            " unsigned count, unsigned s) {\n"
            f"  const unsigned row = first + {row};\n"
            "  unsigned out;\n  memcpy(&out, factors + row * count + s, 4);\n  return out;\n}\n"
            for name, row in rows.items()
        )
        + "// Of the step that begins with factor s. thread-id-a and thread-id-b: any, as every lane holds its row.\n"
        f"__host__ __device__ inline unsigned byte_id(unsigned s) {{ return s % {PER_REGISTER}; }}\n"
    )


def render_metadata(one: CompressedOrder) -> dict[str, str]:
    """Return code from row-major indices of 4 bits to CUTLASS's order: {"numpy", "cuda"}."""
    words = FormulaWords("word", "index")
    forward = one.atom.forward_formula(("row", "group"), words)
    back = one.atom.inverse_formula(("r", "g"), words)
    down, across = one.atom.extents
    count = one.atom.thread_count
    return {
        "numpy": (
            "import numpy as np\n\n\n"
            f"def reorder(indices):  # uint8 [rows][groups], 4 bits each; rows % {down} == 0, groups % {across} == 0\n"
            "    rows, groups = indices.shape\n"
            f"    word, index = np.meshgrid(np.arange({count}), np.arange(8), indexing='ij')\n"
            f"    row, group = {forward['row']}, {forward['group']}\n"
            f"    tiles = indices.reshape(rows // {down}, {down}, groups // {across}, {across})\n"
            "    atoms = tiles.transpose(2, 0, 1, 3)[:, :, row, group].astype(np.uint32)  # along the rows first\n"
            "    return np.bitwise_or.reduce(atoms << 4 * np.arange(8, dtype=np.uint32), axis=-1).reshape(-1)\n"
        ),
        "cuda": (
            "// Word and bit of the index of a row and group; rows: of the whole A.\n"
            "__host__ __device__ inline uint2 metadata_at(unsigned row, unsigned group, unsigned rows) {\n"
            f"  const unsigned r = row % {down}, g = group % {across};\n"
            f"  const unsigned atom = group / {across} * (rows / {down}) + row / {down};\n"
            f"  return make_uint2(atom * {count} + {back['word']}, 4 * ({back['index']}));\n}}\n"
        ),
    }
