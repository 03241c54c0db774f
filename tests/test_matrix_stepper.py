"""The stepper of one ldmatrix or stmatrix: what it shows is what the maps and the storage say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.app.kit.question import read_question
from lanescope.app.steps.matrix_moves import list_arrangements, make_tile_operand
from lanescope.app.steps.matrix_stepper import MatrixStepper, MatrixStepperQuestion, build_matrix_stepper
from lanescope.errors import LayoutError
from lanescope.product.move_plan import moves_rows
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_operand_storage
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

X4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
X4_TRANS = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
STORE = "stmatrix.sync.aligned.m8n8.x4.shared.b16"
ALL = [i for i in catalog.instructions() if moves_rows(i)]
FORMS = [(i, arrangement) for i in ALL for arrangement in list_arrangements(i)]
PLAIN = [form for form in FORMS if not form[0].family.unpacks]
PADDED = {"kind": "rows", "pitch_bytes": 144, "swizzle": "none"}
STORAGES: list[dict[str, object]] = [
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"},
    PADDED,
    {"kind": "atoms", "width_bytes": 64, "outer8_stride": 512, "inner_stride": 4096, "swizzle": "64B", "base": 1024},
    {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "32B"},
]


def step(ptx: str, **asked: Any) -> MatrixStepper:
    return build_matrix_stepper(read_question(MatrixStepperQuestion, {"instruction": ptx, **asked}))


def place(arrangement: str, matrix: int, rows: int, cols: int) -> tuple[int, int]:
    """Return the first row and column of a matrix in S, written from the names of the arrangements."""
    return {
        "down": (rows * matrix, 0),
        "across": (0, cols * matrix),
        "down_first": (rows * (matrix % 2), cols * (matrix // 2)),
        "across_first": (rows * (matrix // 2), cols * (matrix % 2)),
    }[arrangement]


def name(form: tuple[Instruction, str]) -> str:
    return f"{form[0].ptx} {form[1]}"


@for_each("form", take_sample(FORMS, 20), ids=name)
@for_each("first_col", [0, 16])
def test_every_register_holds_the_element_that_the_map_names(form: tuple[Instruction, str], first_col: int) -> None:
    i, arrangement = form
    data = i.operands["data"]
    found = step(i.ptx, matrices=arrangement, first_col=first_col)
    rows, cols = data.extents["row"], data.extents["col"]
    assert not found.s.wrong
    numbers = np.reshape(found.s.numbers, (found.s.rows, found.s.cols))
    for slot in range(32 * data.values):
        lane, value = divmod(slot, data.values)
        matrix, row, col = (int(data.coords[axis][lane, value]) for axis in ("matrix", "row", "col"))
        above, beside = place(arrangement, matrix, rows, cols)
        element = divmod(found.s.holds[slot], found.s.cols)
        assert element == (above + row, beside + col)
        register, bit = data.register_of(value)
        word = found.registers[lane][register]
        held = int(str(word), 16) >> bit & ((1 << found.s.memory_bits) - 1)
        assert held == numbers[element]
        if i.family.loads and found.s.memory_bits == 16:
            assert held == (above + row) * found.s.stored_cols + first_col + beside + col


@for_each("form", take_sample(PLAIN, 12), ids=name)
@for_each("storage", STORAGES, ids=lambda storage: str(storage["kind"] + storage["swizzle"]))
def test_addresses_and_bytes_are_those_of_the_chain(form: tuple[Instruction, str], storage: dict[str, object]) -> None:
    i, arrangement = form
    operand = make_tile_operand(i, arrangement)
    known = chain.make_chain(i, operand, make_operand_storage(storage, operand, "K"))
    assert known.match
    found = step(i.ptx, matrices=arrangement, storage=storage)
    assert found.addresses == [at for at in known.lane_addresses[0, 0].tolist() if at >= 0]
    assert np.array_equal(found.s.reads, known.read[0].reshape(32, operand.values, -1)[..., 0].ravel())
    if i.operands["data"].container_bits == 16:
        assert found.wavefronts == known.costs[0].wavefronts


@for_each("i", [i for i in ALL if not i.family.unpacks], ids=lambda i: i.ptx)
def test_a_simulated_device_moves_the_same(i: Instruction) -> None:
    """Rows of 16 bytes: all of them fit the memory of a run."""
    found = step(i.ptx, matrices="down", storage={"kind": "rows", "pitch_bytes": 16})
    lanes = found.addresses + [0] * (32 - len(found.addresses))
    numbers = np.asarray(found.s.numbers, dtype=np.int64)
    kind = np.uint16 if found.s.memory_bits == 16 else np.uint8
    image = np.zeros(2048 // kind().itemsize, kind)
    image[np.asarray(found.s.at) // found.s.memory_bits] = numbers
    registers = np.array([[int(str(word), 16) for word in lane] for lane in found.registers], np.uint32)
    device = NumpyDevice()
    if i.family.loads:
        assert np.array_equal(device.move(i, image.view(np.uint32)[None], lanes)[0][0], registers)
    else:
        assert np.array_equal(device.move(i, registers[None], lanes)[0][0].view(kind), image)
        assert np.array_equal(found.written, found.s.numbers)


def test_trans_changes_no_address_but_who_receives() -> None:
    """Lane 4g + t receives elements 2t and 2t + 1 of row g; with .trans those of column g."""
    plain, turned = step(X4), step(X4_TRANS)
    assert plain.addresses == turned.addresses
    lane = 4 * 3 + 2
    assert plain.registers[lane][0] == f"0x{3 * 64 + 5:04X}{3 * 64 + 4:04X}"
    assert turned.registers[lane][0] == f"0x{5 * 64 + 3:04X}{4 * 64 + 3:04X}"


def test_packed_elements_begin_every_16_bytes() -> None:
    """By hand: element c of a row lies 4c (6c) bits behind the row's address; 8 (4) bytes of padding follow."""
    for packed, bits in (("b4x16_p64", 4), ("b6x16_p32", 6)):
        found = step(f"ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.{packed}", storage=PADDED)
        at = np.reshape(found.s.at, (8, 16))
        assert np.array_equal(at, 8 * 144 * np.arange(8)[:, None] + bits * np.arange(16))
        assert found.wavefronts is None and "not yet run" in found.note


def test_addresses_without_the_xor_bring_the_neighbours_chunk() -> None:
    found = step(X4, no_xor="1")
    wrong = {one.expected: (one.arrived, one.value) for one in found.s.wrong}
    assert wrong["S[1][0]"] == ("S[1][8]", 64 + 8) and wrong["S[3][1]"] == ("S[3][25]", 3 * 64 + 25)
    assert "S[0][0]" not in wrong and "S[8][0]" not in wrong and len(found.s.wrong) == 224
    said = next(one for one in found.steps if one.kind == "move" and one.index == 1)
    assert said.caption.endswith("✗ Lane 4 should have S[1][0] in R0; S[1][8] arrives.")


def test_a_wrong_pitch_in_the_addresses_shows_what_arrives() -> None:
    """S has rows 128 bytes apart, the lanes step by 64: lane 1 gives the second half of row 0."""
    storage = {"kind": "rows", "pitch_bytes": 128, "swizzle": "none"}
    right = step(X4, storage=storage, addresses="lane % 16 * 128 + lane / 16 * 16")
    assert not right.s.wrong and right.addresses == step(X4, storage=storage).addresses
    found = step(X4, storage=storage, addresses="lane % 16 * 64 + lane / 16 * 16")
    assert {one.expected: one.arrived for one in found.s.wrong}["S[1][0]"] == "S[0][32]"


def test_bytes_outside_s_leave_a_register_unknown() -> None:
    found = step(X4, storage=PADDED, addresses="lane * 16 + 4096")
    assert all(one.arrived == "" and one.value is None for one in found.s.wrong) and len(found.s.wrong) == 256
    assert all(word is None for lane in found.registers for word in lane)


def test_two_rows_stored_at_one_address_leave_it_unknown() -> None:
    found = step(STORE, storage={"kind": "rows", "pitch_bytes": 128}, addresses="lane / 2 * 128")
    written = np.reshape(found.written, (16, 16))
    assert np.isnan(written).all() and found.wavefronts is None
    assert "Lanes 0–1 give the same address" in next(one for one in found.steps if one.kind == "move").caption
    assert "not defined" in found.steps[-1].caption


def test_a_store_to_the_wrong_places() -> None:
    """Without the XOR row 1 of the left half lies where row 1 of the right half belongs, and the other way round."""
    found = step(STORE, no_xor="1")
    held, written = (np.reshape(one, (16, 16)) for one in (found.s.numbers, found.written))
    assert np.array_equal(written[0], held[0])
    assert np.array_equal(written[1, :8], held[1, 8:]) and np.array_equal(written[1, 8:], held[1, :8])
    assert np.isnan(written[2]).all()  # chunks 0 and 1 ⊕ 2 belong to other columns


@for_each(
    ("values", "element", "number"),
    [("row * 100 + col", (3, 4), 304), ("-(i + 1)", (0, 1), -2), (" ".join(map(str, range(256))), (1, 0), 16)],
)
def test_values_are_the_users(values: str, element: tuple[int, int], number: int) -> None:
    found = step(X4, values=values)
    assert found.s.numbers[element[0] * 16 + element[1]] == number
    lane, value = make_tile_operand(find(X4), "down_first").owner(*element)[0]
    assert int(str(found.registers[lane][value // 2]), 16) >> 16 * (value % 2) & 0xFFFF == number & 0xFFFF


@for_each(
    ("ptx", "asked", "field", "says"),
    [
        (X4, {"values": "1 2 3"}, "values", "256"),
        (X4, {"values": "i * 100"}, "values", "65535"),
        (X4, {"values": "0.5"}, "values", "moves bits"),
        (X4, {"storage": {"kind": "rows", "pitch_bytes": 40}}, "storage", "lane 1 gives the address 40"),
        (X4, {"storage": {"kind": "rows", "pitch_bytes": 16}}, "storage", "S[0][8] and S[1][0]"),
        (X4, {"addresses": "lane * 8"}, "addresses", "faults"),
        (X4, {"addresses": "lane * 16 - 16"}, "addresses", "outside shared memory"),
        (X4, {"addresses": "0 16 32"}, "addresses", "one per lane"),
        (X4, {"first_col": 56}, "first_col", "up to 48"),
        (X4, {"matrices": "left"}, "matrices", "down_first"),
        ("ldmatrix.m8n8.x2.shared.b16", {"matrices": "down_first"}, "matrices", "across"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", {}, "instruction", "not an ldmatrix"),
    ],
)
def test_refusals_name_their_field(ptx: str, asked: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(LayoutError) as refused:
        step(ptx, **asked)
    assert refused.value.field == field
    assert says.lower() in f"{refused.value.message} {refused.value.hint}".lower()


# the page, its text and its JSON --------------------------------------------------------------------------------------


def test_a_wrong_field_keeps_the_form(client: Client) -> None:
    page = client.get(f"/steps/{X4}?addresses=lane*8")
    assert page.status_code == 422 and "faults" in page.text and 'value="lane*8"' in page.text
    assert client.get(f"/steps/{X4}.json?addresses=lane*8").json()["error"]["field"] == "addresses"


def test_the_trans_program_of_byte_pairs_has_its_steps(client: Client) -> None:
    """A register holds four consecutive k of B[k][n] = -(k + 16n + 1): of n = 0 in lane 0, of n = 1 in lane 4."""
    page = client.get("/kernel/ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16?data=fill%3Ds8").text
    link = re.search(r'href="(/steps/[^"]*)"', page)
    assert link
    path, _, query = link[1].replace("&amp;", "&").partition("?")
    told = client.get(f"{path}.json?{query}").json()
    assert told["registers"][0] == ["0xFCFDFEFF"] and told["registers"][4] == ["0xECEDEEEF"]
