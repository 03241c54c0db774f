"""tensormap.replace: a map that a kernel makes reads as the one that the driver makes."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.emulate.state.tensor_maps import MAP_BYTES, decode_tensor_map, make_tensor_map
from tests.cases import for_each
from tests.emulated_kernels import run_text

# PTX ISA 9.1, Table 33: numbers of element types differ from CUtensorMapDataType's
TYPES = {"f16": 6, "f32": 7, "f64": 9, "bf16": 10, "tf32": 11}


def make_map(fields: str) -> bytes:
    """Run replacements on 128 zero bytes of global memory; [m] is their address."""
    out = np.zeros(MAP_BYTES, np.uint8)
    text = f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {{ .reg .b64 m; .reg .b32 r; ld.param.u64 m, [out]; {fields} ret; }}"""
    machine = run_text(text, [out], (1, 1, 1))
    assert machine.status == "finished", machine.findings
    return out.tobytes()


def replace(field: str, value: int, ordinal: int | None = None) -> str:
    wide = field in ("global_address", "global_stride")
    place = "" if ordinal is None else f" {ordinal},"
    return f"tensormap.replace.tile.{field}.global.b1024.b{64 if wide else 32} [m],{place} {value};\n"


@for_each("kind", TYPES)
def test_a_map_made_field_by_field_is_the_drivers(kind: str) -> None:
    dims, strides, box = (192, 128, 3), (1536, 196608), (16, 32, 2)
    text = replace("global_address", 0x7F0000001000) + replace("rank", 2) + replace("elemtype", TYPES[kind])
    for n in range(3):
        text += replace("global_dim", dims[n], n) + replace("box_dim", box[n], n) + replace("element_stride", 1, n)
        text += replace("global_stride", strides[n], n) if n < 2 else ""
    text += replace("swizzle_mode", 3) + replace("fill_mode", 1)
    assert decode_tensor_map(make_map(text)) == make_tensor_map(
        address=0x7F0000001000, type=kind, dims=dims, strides=strides, box=box, swizzle="128B", fill="nan"
    )


def test_the_96_byte_swizzle_is_unknown() -> None:
    with pytest.raises(AssertionError, match="unknown_instruction"):
        make_map(replace("swizzle_mode", 4))
