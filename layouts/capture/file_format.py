"""Read and write capture files, which `lanescope.cuh` writes on the device; docs/capture.md describes all fields.

The file has a header and consecutive records, each a multiple of 16 bytes, little-endian. The structs of the C++ header
(layouts/render/capture_header.py), the reader and the writer are generated from the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import WINDOW_BYTES
from lanescope.errors import LayoutError

MAGIC = int.from_bytes(b"LANESCOP", "little")
MARK = int.from_bytes(b"LREC", "little")  # mark of a complete record
VERSION = 1
GRAIN = 16  # alignment of a record's parts in bytes
OPEN = 0xFFFFFFFF  # marks a slice that the kernel did not state
MOST_FILE = 1 << 30  # bytes of the largest file
MOST_RECORDS = 4096  # records read per file
MOST_TEXT = 1024  # bytes of file name, label and instruction
MOST_WINDOW = WINDOW_BYTES  # that a record holds
MOST_REGISTERS = 256  # registers of an operand per thread

# kind → number, meaning
WGMMA, LDMATRIX, MMA, FRAGMENT = 1, 2, 3, 4
KINDS = {WGMMA: "wgmma", LDMATRIX: "ldmatrix", MMA: "mma", FRAGMENT: "fragment"}

# (name, C type, NumPy type, meaning); count: of a C array
Row = tuple[str, str, str, str]
HEADER: tuple[Row, ...] = (
    ("magic", "unsigned long long", "<u8", "the bytes LANESCOP"),
    ("version", "unsigned", "<u4", "1"),
    ("header_bytes", "unsigned", "<u4", "where the first record begins: 64"),
    ("capacity", "unsigned long long", "<u8", "bytes of the buffer, including this header"),
    ("used", "unsigned long long", "<u8", "bytes that the records need, including the header; may exceed the capacity"),
    ("records", "unsigned", "<u4", "records that were written"),
    ("dropped", "unsigned", "<u4", "records that did not fit"),
    ("block_first", "unsigned", "<u4", "the first block that records, by its linear index in the grid"),
    ("block_last", "unsigned", "<u4", "the last one; all blocks of both clusters record"),
    ("skipped", "unsigned long long", "<u8", "calls of a warp that LANESCOPE_WHEN left out"),
    ("reserved_1", "unsigned long long", "<u8", "0"),
)
RECORD: tuple[Row, ...] = (
    ("mark", "unsigned", "<u4", "the bytes LREC, written last"),
    ("bytes", "unsigned", "<u4", "of the complete record, a multiple of 16"),
    ("kind", "unsigned", "<u4", "1 wgmma, 2 ldmatrix, 3 mma, 4 one fragment"),
    ("line", "unsigned", "<u4", "__LINE__"),
    ("block_x", "unsigned", "<u4", "blockIdx"),
    ("block_y", "unsigned", "<u4", ""),
    ("block_z", "unsigned", "<u4", ""),
    ("thread", "unsigned", "<u4", "the first thread of the warp or warpgroup, by its linear index in the block"),
    ("desc_a", "unsigned long long", "<u8", "the words of a wgmma, 0 where A is in registers"),
    ("desc_b", "unsigned long long", "<u8", ""),
    ("m", "unsigned", "<u4", "the slice that should be read, 0xFFFFFFFF where it is not stated"),
    ("n", "unsigned", "<u4", ""),
    ("k", "unsigned", "<u4", ""),
    ("immediates", "unsigned", "<u4", "four signed bytes: scale-a, scale-b, trans-a, trans-b; 0x80 where not given"),
    ("window_first", "unsigned", "<u4", "shared-window address of the first recorded byte"),
    ("window_bytes", "unsigned", "<u4", "how many bytes of shared memory follow"),
    ("text_bytes", "unsigned", "<u4", "of file, label and instruction, each ended by a zero byte"),
    ("addresses", "unsigned", "<u4", "32 for ldmatrix, else 0: one 32-bit address per lane"),
    ("registers_a", "unsigned", "<u4", "32-bit registers per lane of each operand; ldmatrix: of what it loaded, in a"),
    ("registers_b", "unsigned", "<u4", ""),
    ("registers_c", "unsigned", "<u4", ""),
    ("registers_d", "unsigned", "<u4", ""),
)


def _make_dtype(rows: Sequence[Row]) -> np.dtype[Any]:
    return np.dtype([(name, kind) for name, _, kind, _ in rows])


HEADER_TYPE, RECORD_TYPE = _make_dtype(HEADER), _make_dtype(RECORD)
HEADER_BYTES, RECORD_BYTES = HEADER_TYPE.itemsize, RECORD_TYPE.itemsize
ABSENT = -128  # byte of an absent immediate
OPERANDS = "abcd"


@dataclass(frozen=True, slots=True)
class Record:
    """One instruction, recorded by a warp or warpgroup before or after it is issued.

    words: operand → descriptor; slice: m, n, k if the kernel stated them; immediates: scale_a, scale_b, trans_a,
    trans_b if present; registers: operand → uint32 [32, count] of a warp; addresses: [32] of ldmatrix; window: the
    bytes of shared memory from `window_first` on.
    """

    kind: str
    file: str
    line: int
    label: str = ""
    text: str = ""
    block: tuple[int, int, int] = (0, 0, 0)
    thread: int = 0
    words: Mapping[str, int] = field(default_factory=dict)
    slice: Mapping[str, int] = field(default_factory=dict)
    immediates: Mapping[str, int] = field(default_factory=dict)
    window_first: int = 0
    window: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    addresses: NDArray[np.uint32] | None = None
    registers: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)

    @property
    def warp(self) -> int:
        return self.thread // 32

    @property
    def where(self) -> str:
        """The source location in a compiler's format."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture file.

    dropped: number of records that did not fit in the buffer; cut: whether there are more records than were read;
    skipped: number of calls that LANESCOPE_WHEN excluded.
    """

    records: tuple[Record, ...]
    dropped: int = 0
    cut: bool = False
    skipped: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all macro calls of the recorded blocks were recorded."""
        return not (self.dropped or self.cut or self.skipped)


def empty(size: int = 64 << 20, blocks: tuple[int, int] = (0, 0)) -> NDArray[np.uint8]:
    """Return an empty buffer to copy to the device: uint8 [size].

    blocks: linear indices of the first and last block to record.

    >>> empty(1 << 20).size
    1048576
    """
    least = HEADER_BYTES + RECORD_BYTES
    if not least <= size <= MOST_FILE:
        raise LayoutError(
            "bad_capture", f"The size of the buffer is {size} bytes.", f"From {least} to {MOST_FILE} bytes.", "size"
        )
    if not 0 <= blocks[0] <= blocks[1] < 1 << 32:
        raise LayoutError(
            "bad_capture",
            f"blocks is {blocks[0]} to {blocks[1]}.",
            "Give the indices of the first and the last block.",
            "blocks",
        )
    buffer = np.zeros(size // GRAIN * GRAIN, np.uint8)
    values = {
        "magic": MAGIC,
        "version": VERSION,
        "header_bytes": HEADER_BYTES,
        "capacity": len(buffer),
        "used": HEADER_BYTES,
        "block_first": blocks[0],
        "block_last": blocks[1],
    }
    for name, value in values.items():
        buffer[:HEADER_BYTES].view(HEADER_TYPE)[name] = value
    return buffer


# reading --------------------------------------------------------------------------------------------------------------


def read_capture(raw: bytes | bytearray | memoryview | NDArray[Any]) -> Capture:
    """Return the records of a capture: the bytes of a file, or the buffer copied back from the device.

    Only texts are copied; windows are views of `raw`. LayoutError `bad_capture` for a foreign, truncated or oversized
    file, an unknown version, and an incomplete record.
    """
    data = _get_bytes(raw)
    head = _parse_header(data)
    end = min(int(head["used"]), len(data))
    if int(head["used"]) <= int(head["capacity"]) and int(head["used"]) > len(data):
        raise _make_error(
            f"The capture is truncated: {len(data)} bytes of {int(head['used'])}.", "Save the complete buffer again."
        )
    records: list[Record] = []
    at, count = HEADER_BYTES, int(head["records"])
    while len(records) < min(count, MOST_RECORDS):
        record, size = _parse_record(data, at, end, len(records))
        records.append(record)
        at += size
    return Capture(tuple(records), int(head["dropped"]), count > MOST_RECORDS, int(head["skipped"]))


def get_extent(head: bytes) -> int:
    """Return the number of bytes of header and records, from the header.

    Raises LayoutError as read_capture does.
    """
    row = _parse_header(_get_bytes(head))
    end = min(int(row["used"]), int(row["capacity"]))
    if end > MOST_FILE:
        raise _make_error(f"The header gives a size of {end} bytes.", f"At most {MOST_FILE}.")
    return end


def _get_bytes(raw: bytes | bytearray | memoryview | NDArray[Any]) -> NDArray[np.uint8]:
    if isinstance(raw, np.ndarray):
        if raw.dtype.hasobject:
            raise _make_error("The array has objects as elements.", "Give the buffer's bytes, as uint8.")
        data = np.ascontiguousarray(raw).reshape(-1).view(np.uint8)
    else:
        data = np.frombuffer(raw, np.uint8)
    if len(data) > MOST_FILE:
        raise _make_error(f"The capture has {len(data)} bytes.", f"At most {MOST_FILE}.")
    return data


def _parse_header(data: NDArray[np.uint8]) -> np.void:
    if len(data) < 8 or int.from_bytes(data[:8].tobytes(), "little") != MAGIC:
        raise _make_error(
            "This is not a capture: it does not begin with LANESCOP.",
            "Save the output of lanescope::save, or the buffer of lanescope.capture.empty after the kernel.",
        )
    if len(data) < HEADER_BYTES:
        raise _make_error(
            f"The capture is truncated: {len(data)} bytes, the header alone has {HEADER_BYTES}.", "Save it again."
        )
    head: np.void = data[:HEADER_BYTES].view(HEADER_TYPE)[0]
    version, size = int(head["version"]), int(head["header_bytes"])
    if (version, size) != (VERSION, HEADER_BYTES):
        raise _make_error(
            f"The capture has version {version} and a header of {size} bytes; this program reads version {VERSION},"
            f" with {HEADER_BYTES} bytes.",
            "Compile the kernel with the header of this version: lanescope capture header > lanescope.cuh.",
        )
    return head


def _parse_record(data: NDArray[np.uint8], at: int, end: int, number: int) -> tuple[Record, int]:
    row, parts = _row(data, at, end, number)
    begins = np.cumsum([at + RECORD_BYTES, *parts]).tolist()
    words = [part.decode("utf-8", "replace") for part in data[begins[0] :][: row["text_bytes"]].tobytes().split(b"\0")]
    if len(words) != 4 or words[3]:
        raise _make_error(
            f"The texts of record {number}, at byte {at}, are damaged.", "Save the complete buffer again."
        )
    addresses = data[begins[1] : begins[2]].view("<u4") if row["addresses"] else None
    counts = {name: row[f"registers_{name}"] for name in OPERANDS}
    registers = {
        name: data[begins[2 + n] :][: 128 * count].view("<u4").reshape(32, count)
        for n, (name, count) in enumerate(counts.items())
        if count
    }
    immediates = np.array([row["immediates"]], "<u4").view(np.int8).tolist()
    names = ("scale_a", "scale_b", "trans_a", "trans_b")
    record = Record(
        KINDS[row["kind"]],
        words[0],
        row["line"],
        label=words[1],
        text=words[2],
        block=(row["block_x"], row["block_y"], row["block_z"]),
        thread=row["thread"],
        words={"a": row["desc_a"], "b": row["desc_b"]} if row["kind"] == WGMMA else {},
        slice={name: row[name] for name in "mnk" if row[name] != OPEN},
        immediates={name: value for name, value in zip(names, immediates, strict=True) if value != ABSENT},
        window_first=row["window_first"],
        window=data[begins[6] :][: row["window_bytes"]],
        addresses=addresses,
        registers=registers,
    )
    return record, row["bytes"]


def _row(data: NDArray[np.uint8], at: int, end: int, number: int) -> tuple[dict[str, int], list[int]]:
    """Return the fields of a record, and the bytes after them. LayoutError for a damaged or incomplete record."""
    truncated = f"The capture is truncated at byte {at}, in record {number}."
    if at + RECORD_BYTES > end:
        raise _make_error(truncated, "Save the complete buffer again.")
    row = data[at : at + RECORD_BYTES].view(RECORD_TYPE)[0]
    fields = {name: int(row[name]) for name, *_ in RECORD}
    if fields["mark"] != MARK:
        raise _make_error(
            f"Record {number}, at byte {at}, is incomplete.",
            "Wait for the kernel (cudaDeviceSynchronize) before you save the buffer, and check for errors.",
        )
    parts = _list_part_sizes(fields)
    if (
        fields["kind"] not in KINDS
        or fields["text_bytes"] > MOST_TEXT
        or fields["window_bytes"] > MOST_WINDOW
        or max(fields[f"registers_{name}"] for name in OPERANDS) > MOST_REGISTERS
        or fields["addresses"] not in (0, 32)
        or fields["bytes"] != RECORD_BYTES + sum(parts)
    ):
        raise _make_error(f"Record {number}, at byte {at}, is damaged.", "Save the complete buffer again.")
    if at + fields["bytes"] > end:
        raise _make_error(truncated, "Save the complete buffer again.")
    return fields, parts


def _list_part_sizes(row: Mapping[str, int]) -> list[int]:
    """Return the sizes of texts, addresses, registers of a, b, c, d, and window, rounded up to GRAIN."""
    exact = [row["text_bytes"], 4 * row["addresses"]]
    exact += [128 * row[f"registers_{name}"] for name in OPERANDS]
    return [-(-size // GRAIN) * GRAIN for size in (*exact, row["window_bytes"])]


def _make_error(message: str, hint: str) -> LayoutError:
    return LayoutError("bad_capture", message, hint, "capture")


# writing --------------------------------------------------------------------------------------------------------------


def write(capture: Capture, size: int = 0) -> bytes:
    """Return the file of a capture, with the device's format.

    size: bytes of the buffer, 0 for as many as needed; records that do not fit are counted as dropped.
    """
    parts = [_pack_record(record) for record in capture.records]
    needed = HEADER_BYTES + sum(map(len, parts))
    capacity = size or needed
    head = np.zeros(1, HEADER_TYPE)
    used, kept = HEADER_BYTES, []
    for part in parts:
        used += len(part)
        if used <= capacity:
            kept.append(part)
    values = {
        "magic": MAGIC,
        "version": VERSION,
        "header_bytes": HEADER_BYTES,
        "capacity": capacity,
        "used": used,
        "records": len(kept),
        "dropped": capture.dropped + len(parts) - len(kept),
        "block_first": 0,
        "block_last": 0,
        "skipped": capture.skipped,
    }
    for name, value in values.items():
        head[name] = value
    return head.tobytes() + b"".join(kept)


def _pack_record(record: Record) -> bytes:
    text = b"".join(part.encode() + b"\0" for part in (record.file, record.label, record.text))
    names = ("scale_a", "scale_b", "trans_a", "trans_b")
    immediates = np.array([record.immediates.get(name, ABSENT) for name in names], np.int8).view("<u4")[0]
    fields = {
        "mark": MARK,
        "kind": {name: n for n, name in KINDS.items()}[record.kind],
        "line": record.line,
        "block_x": record.block[0],
        "block_y": record.block[1],
        "block_z": record.block[2],
        "thread": record.thread,
        "desc_a": record.words.get("a", 0),
        "desc_b": record.words.get("b", 0),
        **{name: record.slice.get(name, OPEN) for name in "mnk"},
        "immediates": int(immediates),
        "window_first": record.window_first,
        "window_bytes": len(record.window),
        "text_bytes": len(text),
        "addresses": 0 if record.addresses is None else 32,
        **{f"registers_{n}": record.registers[n].shape[1] if n in record.registers else 0 for n in OPERANDS},
    }
    sizes = _list_part_sizes(fields)
    row = np.zeros(1, RECORD_TYPE)
    for name, value in {**fields, "bytes": RECORD_BYTES + sum(sizes)}.items():
        row[name] = value
    bodies = [
        text,
        b"" if record.addresses is None else record.addresses.astype("<u4").tobytes(),
        *(record.registers[n].astype("<u4").tobytes() if n in record.registers else b"" for n in OPERANDS),
        record.window.tobytes(),
    ]
    return row.tobytes() + b"".join(body.ljust(size, b"\0") for body, size in zip(bodies, sizes, strict=True))
