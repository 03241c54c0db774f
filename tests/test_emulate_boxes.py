"""TMA boxes in the emulator against NumPy slices of a padded tensor; the swizzle is an XOR written by hand.

PTX ISA 9.1, 5.5.7: chunks of 16 bytes trade places by the number of the 128-byte line they lie in.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.emulate.machine import Schedule
from lanescope.emulate.state.mbarrier_state import find_wrong_bytes
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.state.tensor_maps import MAP_BYTES, decode_tensor_map, encode_tensor_map, make_tensor_map
from lanescope.errors import LayoutError
from tests.async_kernels import list_codes, run, take, wait
from tests.cases import for_each
from tests.emulated_kernels import run_text

Array = NDArray[Any]
SPANS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
DTYPES = {"u8": np.uint8, "u16": np.uint16, "s32": np.int32, "u64": np.uint64, "bf16": np.uint16, "f16": np.uint16}


def swizzle(offset: int, mode: str) -> int:
    """Where hardware puts the byte at an offset from a multiple of 1024."""
    line = offset // 128
    mask = {"none": 0, "32B": line & 1, "64B": line & 3, "128B": line & 7}[mode]
    return offset ^ mask * 16


def slice_tensor(tensor: Array, at: tuple[int, ...], box: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """The elements of a box, 0 outside the tensor. tensor: outermost first, the others innermost first."""
    axes = [
        first + np.arange(0, size, step) for first, size, step in zip(at[::-1], box[::-1], steps[::-1], strict=True)
    ]
    values = tensor[np.ix_(*(np.clip(axis, 0, most - 1) for axis, most in zip(axes, tensor.shape, strict=True)))]
    for n, (axis, most) in enumerate(zip(axes, tensor.shape, strict=True)):
        np.moveaxis(values, n, 0)[(axis < 0) | (axis >= most)] = 0
    return np.ascontiguousarray(values)


def image_of_box(tensor: Array, at: tuple[int, ...], box: tuple[int, ...], mode: str, steps: tuple[int, ...]) -> Array:
    """Shared memory after a load: [8192] bytes, 0xEE where nothing is written. tensor: outermost first."""
    rows = slice_tensor(tensor, at, box, steps).reshape(-1, box[0]).view(np.uint8)
    pitch = max(rows.shape[1], SPANS[mode])
    image = np.full(8192, 0xEE, np.uint8)
    for r, c in product(range(len(rows)), range(0, rows.shape[1], 16)):
        place = swizzle(r * pitch + c, mode)
        image[place : place + 16] = rows[r, c : c + 16]
    return image


def write_coordinates(at: tuple[int, ...]) -> tuple[str, str]:
    names = [f"%a{n}" for n in range(len(at))]
    return "".join(f"mov.u32 {name}, {value};\n" for name, value in zip(names, at, strict=True)), ", ".join(names)


FILL = (
    "shl.b32 %a20, %tid, 2; add.u32 %a20, %a20, %s; mov.u32 %a21, 0; mov.u32 %a22, 0xEEEEEEEE;\n"
    "F: st.shared.u32 [%a20], %a22; add.u32 %a20, %a20, 512; add.u32 %a21, %a21, 512; setp.lt.u32 %q, %a21, 8192;\n"
    "@%q bra F; fence.proxy.async.shared::cta; bar.sync 0;\n"
)
DUMP = (
    "shl.b32 %a20, %tid, 2; add.u32 %a21, %a20, %s; cvt.u64.u32 %d20, %a20; add.u64 %d20, %d20, %out;\n"
    "mov.u32 %a22, 0;\nG: ld.shared.u32 %a23, [%a21]; st.global.u32 [%d20], %a23; add.u32 %a21, %a21, 512;\n"
    "add.u64 %d20, %d20, 512; add.u32 %a22, %a22, 512; setp.lt.u32 %q, %a22, 8192; @%q bra G;\n"
)


def load_box(at: tuple[int, ...], size: int, offset: int = 0) -> str:
    """Load one box with thread 0 of 128, and copy all of buf to out."""
    moves, names = write_coordinates(at)
    return (
        FILL + f"@!%p bra J;\nmbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n{moves}"
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {size}; add.u32 %a19, %s, {offset};\n"
        f"cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%a19],"
        f" [%map, {{{names}}}], [%bar];\nJ: bar.sync 0;\n" + wait(0) + DUMP
    )


def draw_case(seed: int) -> tuple[dict[str, Any], tuple[int, ...], Array]:
    """A random map, coordinates and tensor, the box in or around it."""
    rng = np.random.default_rng(seed)
    mode, name = rng.choice(list(SPANS)), rng.choice(list(DTYPES))
    dtype = np.dtype(DTYPES[name])
    rank = 1 + seed % 5
    chunk = 16 // dtype.itemsize
    inner = chunk * int(rng.integers(1, (SPANS[mode] if mode != "none" else 64) // 16 + 1))
    box = (inner, *(int(rng.integers(1, (9, 5, 3, 2)[n])) for n in range(rank - 1)))
    dims = (chunk * int(rng.integers(1, 12)), *(int(rng.integers(1, 7)) for _ in range(rank - 1)))
    tensor = rng.integers(1, 100, dims[::-1]).astype(dtype)
    strides, size = [], dims[0] * dtype.itemsize
    for extent in dims[1:]:
        strides.append(size)
        size *= extent
    steps = (1, *(int(rng.choice([1, 1, 1, 2, 3])) for _ in range(rank - 1)))
    at = tuple(int(rng.integers(-3, extent + 2)) for extent in dims)
    made = {"type": name, "dims": dims, "strides": strides, "box": box, "swizzle": mode, "element_strides": steps}
    return made, at, tensor


@for_each("seed", range(25))
def test_a_box_lands_where_the_slice_and_the_xor_say(seed: int) -> None:
    made, at, tensor = draw_case(seed)
    counts = [-(-size // step) for size, step in zip(made["box"], made["element_strides"], strict=True)]
    size = prod(counts) * tensor.dtype.itemsize
    out = np.zeros(8192, np.uint8)
    schedule = Schedule(late=seed % 2 == 1)
    machine = run(load_box(at, size), tensor, out, 128, schedule, make_map=made)
    assert machine.status == "finished" and not machine.findings
    expected = image_of_box(tensor, at, made["box"], made["swizzle"], made["element_strides"])
    assert np.array_equal(take(machine, out), expected)


@for_each("offset", [128, 384, 640])
def test_the_swizzle_reads_bits_of_the_address(offset: int) -> None:
    """A box that begins inside the pattern goes on with it."""
    tensor = np.arange(16 * 64, dtype=np.uint16).reshape(16, 64)
    made = {"type": "u16", "dims": (64, 16), "strides": (128,), "box": (64, 16), "swizzle": "128B"}
    out = np.zeros(8192, np.uint8)
    found = take(run(load_box((0, 0), 2048, offset), tensor, out, 128, make_map=made), out)
    for row, chunk in product(range(16), range(8)):
        place = swizzle(offset + row * 128 + chunk * 16, "128B")
        assert found[place : place + 16].view(np.uint16).tolist() == tensor[row, chunk * 8 : chunk * 8 + 8].tolist()


def load_words(made: dict[str, Any], tensor: Array, at: tuple[int, ...], size: int) -> Array:
    out = np.zeros(8192, np.uint8)
    machine = run(load_box(at, size), tensor, out, 128, make_map=made)
    assert machine.status == "finished"
    return take(machine, out)[:size]


@for_each("name", ["f16", "bf16", "f32", "f64", "tf32"])
def test_nan_outside_the_tensor_is_the_pattern_of_an_h100(name: str) -> None:
    made = {"type": name, "dims": (256,), "strides": (), "box": (16,), "fill": "nan"}
    size = 16 * {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "tf32": 4}[name]
    assert set(load_words(made, np.zeros(2048, np.uint8), (-16,), size).view(np.uint16).tolist()) == {0x7FF7}


def test_tf32_is_rounded_as_an_h100_rounds() -> None:
    words = {
        0x3F800FFF: 0x3F800000,
        0x3F801000: 0x3F800000,
        0x3F801001: 0x3F802000,
        0x3F803000: 0x3F804000,
        0xBF803000: 0xBF804000,
        0x7F7FFFFF: 0x7F800000,
        0x7F800001: 0x7FFFE000,
        0xFFC01234: 0x7FFFE000,
        0x00003000: 0x00004000,
        0x80000001: 0x80000000,
    }
    tensor = np.array([*words, 0, 0], np.uint32)
    made = {"type": "tf32", "dims": (12,), "strides": (), "box": (12,)}
    assert load_words(made, tensor, (0,), 48).view(np.uint32).tolist() == [*words.values(), 0, 0]


def store_box(at: tuple[int, ...], instruction: str) -> str:
    moves, names = write_coordinates(at)
    store = (
        "shl.b32 %a20, %tid, 2; add.u32 %a21, %a20, %s; mov.u32 %a22, 0;\n"
        "cvt.u64.u32 %d20, %a20; add.u64 %d20, %d20, %in;\n"
        "F: ld.global.u32 %a23, [%d20]; st.shared.u32 [%a21], %a23; add.u32 %a21, %a21, 512; add.u64 %d20, %d20, 512;\n"
        "add.u32 %a22, %a22, 512; setp.lt.u32 %q, %a22, 2048; @%q bra F; fence.proxy.async.shared::cta; bar.sync 0;\n"
    )
    return (
        store + f"@!%p bra J;\n{moves}{instruction} [%map, {{{names}}}], [%s];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nJ: bar.sync 0;\n"
    )


@for_each("schedule", [Schedule(), Schedule(late=True)], ids=str)
@for_each("at", [(0, 0), (8, 3), (56, 14), (64, 20)])
def test_a_store_takes_the_swizzle_back_and_skips_what_is_outside(at: tuple[int, int], schedule: Schedule) -> None:
    image, out = np.arange(1024, dtype=np.uint16), np.zeros((16, 64), np.uint16)
    made = {"type": "u16", "dims": (64, 16), "strides": (128,), "box": (32, 8), "swizzle": "64B"}
    body = store_box(at, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
    machine = run(body, image, out, 128, schedule, make_map=made, on_output=True)
    assert machine.status == "finished"
    expected = np.zeros((16, 64), np.uint16)
    for r, c in product(range(8), range(32)):
        if at[1] + r < 16 and at[0] + c < 64:
            expected[at[1] + r, at[0] + c] = image[swizzle(r * 64 + c * 2, "64B") // 2]
    assert np.array_equal(take(machine, out), expected)


@for_each(("inside", "codes"), [(32, []), (34, ["unwritten_shared"])])
def test_a_store_reads_only_what_lies_inside_the_tensor(inside: int, codes: list[str]) -> None:
    # Boxes of 40 elements, as padded tiles have; 28 rows of 80 bytes, of which the first 64 are written.
    made = {"type": "u16", "dims": (inside, 28), "strides": (80,), "box": (40, 28), "swizzle": "none"}
    body = store_box((0, 0), "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
    rows = "".join(
        f"mad.lo.u32 %a25, %tid, 4, {80 * row}; add.u32 %a25, %a25, %s; setp.lt.u32 %q, %tid, 16;"
        " @%q st.shared.u32 [%a25], 7;\n"
        for row in range(28)
    )
    body = rows + body[body.index("fence.proxy.async") :]
    tensor = np.zeros((28, 40), np.uint16)
    machine = run(body, np.zeros(1024, np.uint16), tensor, 128, Schedule(), make_map=made, on_output=True)
    assert [one.code for one in machine.findings] == codes


@for_each(
    ("operation", "name"),
    [
        *product(("add", "min", "max"), ("u32", "s32")),
        *product(("inc", "dec"), ("u32",)),
        ("xor", "u32"),
        ("and", "u32"),
    ],
)
def test_reductions_of_integers(operation: str, name: str) -> None:
    rng = np.random.default_rng(3)
    signed = name == "s32"
    low, high = (-9, 9) if signed else (0, 9)
    image = rng.integers(low, high, 512).astype(np.int32 if signed else np.uint32)
    out = rng.integers(low, high, (8, 16)).astype(image.dtype)
    rules = {
        "add": lambda a, b: a + b,
        "min": min,
        "max": max,
        "inc": lambda a, b: 0 if a >= b else a + 1,
        "dec": lambda a, b: b if a == 0 or a > b else a - 1,
        "xor": lambda a, b: a ^ b,
        "and": lambda a, b: a & b,
    }
    made = {"type": name, "dims": (16, 8), "strides": (64,), "box": (16, 8)}
    body = store_box((0, 0), f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.tile.bulk_group")
    machine = run(body, image, out, 128, make_map=made, on_output=True)
    assert machine.status == "finished"
    expected = [rules[operation](int(a), int(b)) for a, b in zip(out.reshape(-1), image, strict=False)]
    assert take(machine, out).reshape(-1).tolist() == expected


@for_each(
    ("body", "code"),
    [
        (load_box((0, 0), 2048, 64), "misaligned"),
        (load_box((0, 0, 0), 2048), "tensor_rank"),
        (store_box((-1, 0), "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"), "negative_coordinate"),
        (load_box((0, 0), 2048).replace("[%map, ", "[%in, "), "not_a_tensor_map"),
        (load_box((0, 0), 2048).replace("[%map, ", "[%map + 8, "), "misaligned"),
    ],
)
def test_what_hardware_refuses_is_a_fault(body: str, code: str) -> None:
    made = {"type": "u16", "dims": (64, 16), "strides": (128,), "box": (64, 16), "swizzle": "128B"}
    machine = run(body, np.zeros(4096, np.uint8), np.zeros(8192, np.uint8), 128, make_map=made)
    assert machine.status == "fault" and list_codes(machine) == [code]


CHANGES = {
    "global_address": ("b64 [{at}], %d5", lambda map: map | {"skip": 16}),
    "box_dim": ("b32 [{at}], 1, 4", lambda map: map | {"box": (16, 4)}),
    "global_dim": ("b32 [{at}], 1, 5", lambda map: map | {"dims": (16, 5)}),
    "global_stride": ("b64 [{at}], 0, 64", lambda map: map | {"strides": (64,)}),
    "element_stride": ("b32 [{at}], 1, 2", lambda map: map | {"element_strides": (1, 2)}),
    "swizzle_mode": ("b32 [{at}], 1", lambda map: map | {"swizzle": "32B"}),
}


@for_each("field", CHANGES)
@for_each("place", ["global", "shared::cta"])
def test_a_map_that_the_kernel_changes_loads_what_a_map_made_so_loads(field: str, place: str) -> None:
    """As grouped products do: copy the map, replace a field, and load through the copy in global memory."""
    tensor = np.arange(16 * 16, dtype=np.uint16).reshape(16, 16)
    made = {"type": "u16", "dims": (16, 16), "strides": (32,), "box": (16, 8)}
    text, change = CHANGES[field]
    size = {"box_dim": 128, "element_stride": 128}.get(field, 256)
    at = "%d6" if place == "global" else "%a24"
    body = "add.u64 %d5, %in, 32; add.u64 %d6, %out, 8192; mov.u32 %a24, %s;\n"
    for n in range(0, 128, 8):
        body += f"ld.param.u64 %d7, [map+{n}]; st.global.u64 [%d6+{n}], %d7; st.shared.u64 [%s+{n}], %d7;\n"
    body += f"bar.sync 0; @%p tensormap.replace.tile.{field}.{place}.b1024.{text.format(at=at)};\nbar.sync 0;\n"
    if place == "shared::cta":
        body += (
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d6], [%s], 128;\n"
        )
    body += "fence.proxy.tensormap::generic.acquire.gpu [%d6], 128; bar.sync 0;\n"
    body += load_box((0, 0), size).replace("[%map, ", "[%d6, ")
    machine = run(body, tensor, np.zeros(8320, np.uint8), 128, make_map=made)
    assert machine.status == "finished", machine.findings
    expected = change(dict(made))
    source = tensor.reshape(-1)[expected.pop("skip", 0) :]
    if len(source) < 256:
        source = np.concatenate([source, np.zeros(16, np.uint16)])
    wanted = run(load_box((0, 0), size), source, np.zeros(8192, np.uint8), 128, make_map=expected)
    assert wanted.status == "finished"
    found = take(machine, np.zeros(8320, np.uint8))[:8192]
    assert np.array_equal(found, take(wanted, np.zeros(8192, np.uint8)))


@for_each("size", [1024, 4096])
def test_an_expect_tx_of_other_bytes_is_reported_with_both_numbers(size: int) -> None:
    made = {"type": "u16", "dims": (64, 16), "strides": (128,), "box": (64, 16), "swizzle": "128B"}
    machine = run(load_box((0, 0), size), np.zeros(1024, np.uint16), np.zeros(8192, np.uint8), 128, make_map=made)
    assert machine.status == "deadlock"
    find_wrong_bytes(machine)
    messages = [one.message for one in machine.findings if one.code == "expect_tx_bytes"]
    assert messages and all(f"specifies {size:,}" in one and "complete 2,048" in one for one in messages)


MAP: dict[str, Any] = {
    "address": 0x7F00_0000_0000,
    "type": "bf16",
    "dims": (256, 512),
    "strides": (512,),
    "box": (64, 128),
}


def test_a_map_survives_its_bytes() -> None:
    made = make_tensor_map(**(MAP | {"swizzle": "128B", "element_strides": (1, 2), "fill": "nan"}))
    assert decode_tensor_map(encode_tensor_map(made)) == made
    with pytest.raises(FaultError):
        decode_tensor_map(encode_tensor_map(made)[:64] + bytes(64))


WIDENED = {"type": "16U4_ALIGN16B", "box": (128, 128)}  # 16 elements of 4 bits take 16 bytes of shared memory


@for_each(
    "change",
    [
        {"type": "16U4_ALIGN8B", "dims": (258, 512)},
        *({**WIDENED, "swizzle": swizzle} for swizzle in ("none", "128B", "128B_ATOM_32B")),
        WIDENED | {"type": "16U6_ALIGN16B", "swizzle": "128B_ATOM_64B"},
    ],
)
def test_maps_of_packed_elements_that_the_driver_takes(change: dict[str, Any]) -> None:
    assert make_tensor_map(**(MAP | change)).type.name == change["type"]


@for_each(
    ("change", "code"),
    [
        ({"address": 8}, "tma_address"),
        ({"type": "f80"}, "tma_type"),
        ({"dims": (0, 512)}, "tma_dim"),
        ({"dims": (256, (1 << 32) + 1)}, "tma_dim"),
        ({"strides": (520,)}, "tma_stride"),
        ({"strides": (1 << 40,)}, "tma_stride"),
        ({"box": (64, 257)}, "tma_box"),
        ({"box": (60, 8)}, "tma_inner_box"),
        ({"box": (128, 8), "swizzle": "128B"}, "tma_inner_over_swizzle"),
        ({"box": (64,)}, "tma_rank"),
        ({"element_strides": (1, 9)}, "tma_element_stride"),
        ({"swizzle": "96B"}, "tma_swizzle"),
        ({"interleave": "16B"}, "tma_rank"),
        ({"type": "u16", "fill": "nan"}, "tma_fill"),
        ({"type": "16U4_ALIGN8B", "dims": (257, 512)}, "tma_dim"),
        (WIDENED | {"dims": (192, 512)}, "tma_dim"),
        (WIDENED | {"address": 0x7F00_0000_0010}, "tma_address"),
        (WIDENED | {"strides": (528,)}, "tma_stride"),
        (WIDENED | {"box": (64, 128)}, "tma_box"),
        (WIDENED | {"swizzle": "64B"}, "tma_swizzle"),
        (WIDENED | {"swizzle": "128B_ATOM_64B"}, "tma_swizzle"),  # of 6 bits only
    ],
)
def test_maps_that_the_driver_refuses(change: dict[str, Any], code: str) -> None:
    with pytest.raises(LayoutError) as refused:
        make_tensor_map(**(MAP | change))
    assert refused.value.code == code


# maps that a kernel makes ---------------------------------------------------------------------------------------------

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
