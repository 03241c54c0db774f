"""Launches: what arguments, buffers and limits become, and what is refused, named by its field."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import lanescope
from lanescope.capture import fill as make_codes
from lanescope.emulate.launching.elements import TYPES, decode_elements, fill_elements
from lanescope.emulate.launching.kernel import Placement, prepare_kernel
from lanescope.emulate.launching.launch import parse_launch, parse_toml
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from tests.cases import for_each

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
PARAMETERS = (
    ".param .u64 p, .param .u32 n, .param .f32 x, .param .f64 y, .param .s8 c, .param .align 4 .b8 s[12],"
    " .param .align 64 .b8 map[128]"
)
ENTRY = HEAD + f".visible .entry add_one({PARAMETERS}) {{ ret; }}\n"
BUFFERS = {"A": {"shape": [8, 64], "type": "bf16"}}
MAPS = {"mapA": {"buffer": "A", "dims": [64, 8], "strides": [128], "box": [64, 8], "swizzle": "128B"}}
ARGS: list[Any] = ["A", 7, 1, 0.1, -1, {"hex": "01 02 03 04 05060708 090a0b0c"}, "mapA"]


def place(ptx: str = ENTRY, **changes: Any) -> Placement:
    """Place a launch of one block."""
    launch = {"grid": [1], "block": [32], "args": ARGS, "buffer": BUFFERS, "tensor_map": MAPS} | changes
    return prepare_kernel(parse_module(ptx), parse_launch(launch)).place()


def read_parameters(placement: Placement) -> bytes:
    machine = placement.machine
    found = machine.memory.find_global(machine.parameter_base)
    assert found is not None
    return found.data.tobytes()


def test_arguments_are_bytes_of_their_parameters() -> None:
    placement = place()
    raw = read_parameters(placement)
    assert struct.unpack_from("<QIfdb", raw) == (placement.buffers["A"].base, 7, 1.0, 0.1, -1)
    assert raw[28:40] == bytes(range(1, 13))  # a struct aligned to 4 behind one byte at 24
    assert raw[64:72] == b"LStensor"  # a map by value, aligned to 64


def test_a_map_is_given_by_address() -> None:
    placement = place(HEAD + ".entry k(.param .u64 .ptr .global .align 64 p) { ret; }\n", args=["&mapA"])
    address = int.from_bytes(read_parameters(placement)[:8], "little")
    found = placement.machine.memory.find_global(address)
    assert found is not None and found.base == address and found.name == "mapA" and address % 64 == 0


@for_each(
    ("value", "expected"),
    [("0xFFFFFFFF00000001", 0xFFFFFFFF00000001), (0, 0), (-1, (1 << 64) - 1), ("18_000", 18000), (2.0, 2)],
)
def test_a_number_fills_a_pointer(value: object, expected: int) -> None:
    raw = read_parameters(place(HEAD + ".entry k(.param .u64 p) { ret; }\n", args=[value]))
    assert int.from_bytes(raw[:8], "little") == expected


@for_each(
    ("changes", "field", "words"),
    [
        ({"gird": 1}, "gird", "Did you mean 'grid'?"),
        ({"block": [2048]}, "block", "from 1 to 1024"),
        ({"block": [64, 32]}, "block", "2,048 threads"),
        ({"grid": [1, 1, 1, 1]}, "grid", "4 extents"),
        ({"args": ["A"]}, "args", "7 parameters"),
        ({"args": ["B", *ARGS[1:]]}, "args[0]", "The launch has A, mapA and &mapA"),
        ({"args": ["A", 1 << 32, *ARGS[2:]]}, "args[1]", "to 4294967295"),
        ({"args": ["A", 1.5, *ARGS[2:]]}, "args[1]", "integer"),
        ({"args": ["A", 7, 1e39, *ARGS[3:]]}, "args[2]", "past the largest"),
        ({"args": ["A", "A", *ARGS[2:]]}, "args[1]", "64-bit"),
        ({"args": [*ARGS[:5], {"hex": "00"}, "mapA"]}, "args[5]", "12 bytes"),
        ({"args": [*ARGS[:5], 3, "mapA"]}, "args[5]", "hex"),
        ({"args": ["mapA", *ARGS[1:]]}, "args[0]", "'&mapA'"),
        ({"shared": 232449}, "shared", "232,448 bytes"),
        ({"cluster": [2], "grid": [3]}, "grid", "multiple of the cluster"),
        ({"cluster": [16, 2], "grid": [16, 2]}, "cluster", "at most 16"),
        ({"kernel": "sub"}, "kernel", "add_one"),
        ({"buffer": {"A": {"shape": [8, 64], "typ": "bf16"}}}, "buffer.A.typ", "Did you mean 'type'?"),
        ({"buffer": {"A": {"shape": [8, 64], "type": "bf15"}}}, "buffer.A.type", "Did you mean 'bf16'?"),
        ({"buffer": {"A": {"shape": [8, 64], "type": "u8", "fill": 256}}}, "buffer.A.fill", "cannot represent"),
        ({"buffer": {"A": {"shape": [8, 63], "type": "e2m1"}}}, "buffer.A.shape", "multiple of 2"),
        ({"buffer": {"A": {"shape": [9], "type": "bf16", "fill": "identify"}}}, "buffer.A.fill", "two axes"),
        ({"buffer": {"A": {"file": "A.npy"}}}, "buffer.A", "Give its file"),
        ({"buffer": {"mapA": BUFFERS["A"]}}, "tensor_map.mapA.buffer", "mapA"),
        ({"buffer": BUFFERS | {"mapA": BUFFERS["A"]}}, "tensor_map.mapA", "different names"),
        ({"tensor_map": {"mapA": MAPS["mapA"] | {"box": [128, 8]}}}, "tensor_map.mapA.swizzle", "128"),
        ({"tensor_map": {"mapA": MAPS["mapA"] | {"strides": [120]}}}, "tensor_map.mapA.strides", "multiple of 16"),
        ({"tensor_map": {"mapA": MAPS["mapA"] | {"swizle": 1}}}, "tensor_map.mapA.swizle", "swizzle"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_allowed(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(LayoutError) as refused:
        place(**changes)
    assert refused.value.field == field
    assert words in str(refused.value)


@for_each(
    ("directive", "changes", "field"),
    [
        (".maxntid 16, 1, 1", {}, "block"),
        (".reqntid 64", {}, "block"),
        (".reqnctapercluster 2, 1, 1", {"cluster": [1]}, "cluster"),
        (".maxclusterrank 1", {"cluster": [2], "grid": [2]}, "cluster"),
    ],
)
def test_directives_limit_the_launch(directive: str, changes: dict[str, Any], field: str) -> None:
    ptx = HEAD + f".entry k() {directive} {{ ret; }}\n"
    with pytest.raises(LayoutError) as refused:
        place(ptx, args=[], **changes)
    assert refused.value.field == field


def test_the_cluster_of_the_kernel_is_taken_where_the_launch_says_none() -> None:
    ptx = HEAD + ".entry k() .reqnctapercluster 2, 1, 1 { ret; }\n"
    assert place(ptx, args=[], grid=[4]).kernel.cluster == (2, 1, 1)


def test_a_part_of_the_name_chooses_the_entry() -> None:
    ptx = HEAD + ".entry _Z4gemmIfE() { ret; }\n.entry _Z4gemmIdE() { ret; }\n"
    assert place(ptx, args=[], kernel="If").kernel.entry.name == "_Z4gemmIfE"
    with pytest.raises(LayoutError, match="matches 2 entries"):
        place(ptx, args=[], kernel="gemm")


@for_each("name", [one for one in TYPES if one != "ue8m0"])
def test_random_fills_are_small_integers_of_every_type(name: str) -> None:
    row = TYPES[name]
    values = decode_elements(fill_elements("A", "random", (64, 64), row, "A"), row).astype(float)
    low, high = (0, 1) if name == "b1" else (-3 if row.signed else 0, 3)
    assert values.shape == (64, 64) and set(np.unique(values)) == set(range(low, high + 1))


def test_identify_fills_the_codes_of_captures() -> None:
    buffers = {
        "A": {"shape": [8, 64], "type": "bf16", "fill": "identify"},
        "B": {"shape": [64, 8], "type": "bf16", "fill": "identify", "major": "MN"},
        "W": {"shape": [8, 64], "type": "e4m3", "fill": "identify", "operand": "b", "pass": 2},
    }
    arrays = {name: one.array for name, one in place(buffer=buffers).kernel.buffers.items()}
    assert (arrays["A"] == make_codes((8, 64), "bf16")).all()
    assert (arrays["B"] == make_codes((64, 8), "bf16", "b")).all()
    assert (arrays["W"] == make_codes((64, 8), "e4m3", "b", 2).T).all()


def test_bits_are_kept_and_values_are_not_converted() -> None:
    ptx = HEAD + ".entry k(.param .u64 p) { ret; }\n"
    launch = parse_toml('grid = [1]\nblock = [1]\nargs = ["A"]\n[buffer.A]\ntype = "bf16"\n')
    codes = np.array([0x3F80, 0x7FC0], np.uint16)
    kernel = prepare_kernel(parse_module(ptx), launch, {"A": codes.view(np.int16)})
    assert (kernel.buffers["A"].array == codes).all()
    with pytest.raises(LayoutError, match="Save the codes of bf16 as uint16"):
        prepare_kernel(parse_module(ptx), launch, {"A": np.ones(2, np.float32)})


def test_the_package_is_the_function() -> None:
    """Also once its modules are imported: `lanescope.emulate` is one name for both."""
    ptx = HEAD + ".entry k() { ret; }\n"
    assert lanescope.emulate(ptx, {"grid": [1], "block": [1]}).status == "finished"
    from lanescope import emulate

    assert emulate(ptx, "grid = [1]\nblock = [1]\n").passed
