"""Both descriptors of tcgen05 in C++: the code for CUTLASS, compiled with its headers, gives the word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import encode
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.render import idesc as idesc_code
from lanescope.render.descriptor import render_code
from tests import cpp
from tests.oracle import tcgen05 as oracle
from tests.ptxas import nvrtc
from tests.test_idesc import CUTLASS, list_legal_words
from tests.test_tcgen05_descriptor import RIGHT

INSTRUCTION_WORDS = [
    *(word for word, _ in list_legal_words()),
    encode(
        idesc.get_kind("f16"),
        {"m": 128, "n": 64, "transpose_a": 1, "transpose_b": 1, "negate_b": 1, "max_shift": 8},
    ),
    encode(idesc.get_kind("i8"), {"a": "s8", "m": 64, "n": 32, "saturate": 1, "sparse": 1}),
    encode(idesc.get_kind("tf32"), {"m": 64, "n": 32, "sparse": 1, "sparsity_selector": 1}),
    *(encode(idesc.get_kind("f8f6f4"), {"a": a, "b": "e5m2", "m": 64, "n": 32}) for a in oracle._F8.values()),
    encode(idesc.get_kind("mxf8f6f4"), {"m": 128, "n": 32, "sfa_id": 3, "sfb_id": 1}),
]
MATRIX_WORDS = [RIGHT, 0x2000402001000100, 0xC000401000000000, 0x4010404008400040, 0x5000404000010100]


@pytest.mark.skipif(
    cpp.find_compiler() is None or nvrtc.find_headers() is None or not CUTLASS.is_dir(),
    reason="no compiler, CUDA or CUTLASS",
)
def test_the_code_for_cutlass_and_the_function_give_the_word(tmp_path: Path) -> None:
    """One program for both: CUTLASS's headers are most of what a compiler reads."""
    functions, statements = [], [f"{{ {idesc_code.render_cutlass(word)} }}" for word in INSTRUCTION_WORDS]
    for number, word in enumerate(MATRIX_WORDS):
        code = render_code(Descriptor(word, TCGEN05))
        name = f"make_desc_{number}"
        functions.append(code["function"].replace("__device__ inline uint64_t make_desc", f"uint64_t {name}"))
        statements += [
            f"{{ {code['cutlass']}\n if (desc.desc_ != {word:#x}ull) return 1; }}",
            f"if ({name}((void*){(word & 0x3FFF) << 4}ull) != {word:#x}ull) return 2;",
        ]
    source = [
        "#include <cassert>\n#include <cute/arch/mma_sm100_desc.hpp>",
        "static uint64_t __cvta_generic_to_shared(const void* p) { return (uint64_t)p; }",
        *functions,
        "int main() {",
        *statements,
        "}\n",
    ]
    (tmp_path / "words.cpp").write_text("\n".join(source))
    cuda = nvrtc.find_headers()
    assert cuda is not None
    folders = [part for path in (CUTLASS, cuda, cuda / "cccl") for part in ("-isystem", str(path))]
    command = [str(cpp.find_compiler()), "-std=c++17", "-w", "-O0", *folders, str(tmp_path / "words.cpp")]
    compiled = subprocess.run([*command, "-o", str(tmp_path / "words")], capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr[:3000]
    assert subprocess.run([str(tmp_path / "words")]).returncode == 0
