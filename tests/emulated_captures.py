"""The kernels whose captures an H200 wrote, run by the emulator: their PTX, their launches, and what is compared.

tests/golden/captures/ptx.tar.xz holds what NVRTC 13.5 made of the sources (the five examples with every MISTAKE, and
those of others.tar.xz) for sm_90a, with the macros of lanescope.cuh. `python -m tests.emulated_captures` runs them all.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope import capture
from lanescope.app.hardware import capture_examples
from lanescope.capture import file_format, fills
from lanescope.capture.file_format import Record
from lanescope.emulate.launching.kernel import Placement, prepare_kernel
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.machine import Schedule
from lanescope.emulate.state.mbarrier_state import list_mbarriers
from lanescope.emulate.text.parser import parse_module
from lanescope.emulate.text.program import Module
from tests.h200_captures import FOLDER

Array = NDArray[Any]
BUFFER = 8 << 20
# name → element, shapes of A and B in memory (B by rows of N unless it is p1's), grid, threads
OTHERS: dict[str, tuple[str, tuple[int, int], tuple[int, int], tuple[int, int, int], int]] = {
    "w1_bf16_64B_ring-right": ("bf16", (128, 192), (64, 192), (1, 1, 1), 256),
    "w4_s8-right": ("s8", (64, 192), (64, 192), (1, 1, 1), 128),
    "w6_sparse-right": ("bf16", (64, 128), (64, 256), (1, 1, 1), 128),
    "w7_blocks_at-right": ("bf16", (128, 128), (128, 128), (2, 2, 1), 128),
    "w8_pieces-right": ("e4m3", (64, 512), (64, 512), (1, 1, 1), 128),
    "w9_c-right": ("f16", (64, 64), (64, 64), (1, 1, 1), 128),
    "w10_none_f16acc-right": ("f16", (64, 64), (32, 64), (1, 1, 1), 128),
    "p1_m16n8k8_bf16_trans-right": ("bf16", (16, 64), (64, 16), (1, 1, 1), 32),
    "p1_m16n8k8_bf16_trans-swap": ("bf16", (16, 64), (64, 16), (1, 1, 1), 32),
    "p3_4warps_x4_pairs-b_pairs": ("f16", (64, 64), (64, 64), (1, 1, 1), 128),
    "p4_plain_tf32-right": ("tf32", (16, 64), (8, 64), (1, 1, 1), 32),
}


@lru_cache(maxsize=3)
def read_archive(name: str) -> dict[str, bytes]:
    with tarfile.open(FOLDER / name) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


@lru_cache(maxsize=4)
def read_module(name: str) -> Module:
    return parse_module(read_archive("ptx.tar.xz")[f"{name}.ptx"].decode())


def prepare_example(name: str, mistake: int, kind: str, schedule: Schedule = Schedule()) -> Placement:
    """Place one of the five examples, with a fill ("fill1") or with random matrices ("real")."""
    example = capture_examples.BY_NAME[name]
    data = (
        capture_examples.make_random(example) if kind == "real" else capture_examples.make_fills(example, int(kind[-1]))
    )
    arrays = {"A": data.a, "B": data.b, "capture": file_format.empty(BUFFER)}
    arguments, maps = ["D"], {}
    for letter, matrix, box in (("A", data.a, example.box_a), ("B", data.b, example.box_b)):
        arguments.append(letter if box == (0, 0) else f"&map{letter}")
        if box != (0, 0):
            strides = [matrix.shape[1] * matrix.dtype.itemsize]
            maps[f"map{letter}"] = {
                "buffer": letter,
                "dims": list(matrix.shape[::-1]),
                "strides": strides,
                "box": list(box),
                "swizzle": "128B",
            }
    launch = {
        "grid": [1, 1, 1],
        "block": [example.threads, 1, 1],
        "shared": example.count_shared_bytes(mistake),
        "args": [*arguments, "capture"],
        "buffer": {
            "D": {"shape": [example.a[0], example.n], "type": "f32"},
            **{letter: {"file": letter, "type": example.element} for letter in "AB"},
            "capture": {"file": "capture", "type": "u8"},
        },
        "tensor_map": maps,
    }
    return prepare_kernel(read_module(f"{name}-{mistake}"), parse_launch(launch), arrays).place(schedule)


def prepare_other(name: str, kind: str, schedule: Schedule = Schedule()) -> Placement:
    """Place a kernel that is no example; its shared memory is what the H200's capture has."""
    element, shape_a, shape_b, grid, threads = OTHERS[name]
    recorded = read_archive("others.tar.xz")
    if kind == "real":
        a, b = (np.load(io.BytesIO(recorded[f"{name.rpartition('-')[0]}-{letter}.npy"])) for letter in "ab")
    else:
        a = fills.matrix(shape_a, element, "a", int(kind[-1]))
        b = fills.matrix(shape_b, element, "b", int(kind[-1]), nk=not name.startswith("p1"))
    windows = (len(one.window) for one in capture.read(recorded[f"{name}-{kind}.lscap"]).records)
    launch = {
        "grid": list(grid),
        "block": [threads, 1, 1],
        "shared": max(windows),
        "args": ["D", "A", "B", "capture"],
        "buffer": {
            "D": {"shape": [shape_a[0] * max(shape_b)], "type": "f32"},
            "A": {"file": "A", "type": "u8"},
            "B": {"file": "B", "type": "u8"},
            "capture": {"file": "capture", "type": "u8"},
        },
    }
    blocks = (0, grid[0] * grid[1] - 1)
    arrays = {"A": a, "B": b, "capture": file_format.empty(BUFFER, blocks)}
    arrays |= {letter: np.ascontiguousarray(arrays[letter]).view(np.uint8).reshape(-1) for letter in "AB"}
    return prepare_kernel(read_module(name), parse_launch(launch), arrays).place(schedule)


def take_capture(placement: Placement) -> bytes:
    """The file that a kernel which ran wrote into its buffer."""
    raw = placement.buffers["capture"].data
    used = int(raw[: file_format.HEADER_BYTES].view(file_format.HEADER_TYPE)["used"][0])
    return raw[:used].tobytes()


def list_differences(placement: Placement, made: bytes, wanted: bytes) -> list[str]:
    """Where two captures differ, record by record: texts, places, words, slices, immediates, addresses, registers (D of
    sums that are not exact, too) and shared memory. Not compared: the order of the warps' records; bytes of shared
    memory that the kernel never wrote, and those of its mbarriers, whose format is open; D that comes from such bytes.
    """
    machine = placement.machine
    words = [one.function.statements for one in machine.program.codes.values()]
    products = {
        s.line for statements in words for s in statements if s.words[:2] in (("wgmma", "mma_async"), ("mma", "sync"))
    }
    unknown = any(one.code == "unwritten_shared" and one.line in products for one in machine.findings)
    masks = {block.index: _find_comparable(block) for cluster in machine.clusters for block in cluster.blocks}
    ours, theirs = (sorted(capture.read(raw).records, key=_get_key) for raw in (made, wanted))
    found = [] if len(ours) == len(theirs) else [f"{len(ours)} records, not {len(theirs)}"]
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        differ = [name for name in _FIELDS if getattr(mine, name) != getattr(other, name)]
        differ += [] if _is_equal(mine.addresses, other.addresses) else ["addresses"]
        differ += _list_registers(mine, other, unknown)
        if len(mine.window) != len(other.window):
            differ.append("window_bytes")
        elif len(mine.window):
            mask = masks[mine.block][: len(mine.window)]
            differ += ["window"] if (mine.window[mask] != other.window[mask]).any() else []
        found += [f"record {number}, {mine.kind} at {mine.where}: {', '.join(differ)}"] if differ else []
    return found


_FIELDS = ("kind", "file", "line", "label", "text", "block", "thread", "words", "slice", "immediates", "window_first")


def _get_key(record: Record) -> tuple[Any, ...]:
    return record.kind, record.block, record.thread, record.line, record.label


def _find_comparable(block: Any) -> Array:
    written = block.shared.written.copy()
    for at in list_mbarriers(block):
        written[at : at + 8] = False
    return np.asarray(written)


def _is_equal(one: Array | None, other: Array | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _list_registers(mine: Record, other: Record, unknown: bool) -> Iterator[str]:
    if set(mine.registers) != set(other.registers):
        yield "registers"
        return
    for name, words in mine.registers.items():
        if _is_equal(words, other.registers[name]) or (name == "d" and mine.label != "C" and unknown):
            continue
        yield f"registers {name}"


def list_runs() -> Iterator[tuple[str, str]]:
    """(name, kind) of every capture whose PTX is here: an example's mistake is part of its name."""
    modules = {name.removesuffix(".ptx") for name in read_archive("ptx.tar.xz")}
    for archive in ("captures.tar.xz", "others.tar.xz"):
        for file in read_archive(archive):
            name, _, kind = file.removesuffix(".lscap").rpartition("-")
            if file.endswith(".lscap") and name in modules:
                yield name, kind


def compare(name: str, kind: str, schedule: Schedule = Schedule()) -> list[str]:
    """Run one kernel and return where its capture differs from the H200's."""
    example, _, mistake = name.rpartition("-")
    if example in capture_examples.BY_NAME:
        placement, archive = prepare_example(example, int(mistake), kind, schedule), "captures.tar.xz"
    else:
        placement, archive = prepare_other(name, kind, schedule), "others.tar.xz"
    placement.machine.run()
    status = placement.machine.status
    differences = list_differences(placement, take_capture(placement), read_archive(archive)[f"{name}-{kind}.lscap"])
    return ([] if status == "finished" else [status]) + differences


if __name__ == "__main__":
    for run in list_runs():
        print(*run, compare(*run) or "equal", flush=True)
