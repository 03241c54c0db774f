"""From storage to operand: what public kernels do, minimality by exhaustive search, and the generated code, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lanescope.app.delivery import facts
from lanescope.app.delivery.feature import list_changes
from lanescope.app.hardware import delivery_runs
from lanescope.app.hardware.verification import rename_kernel
from lanescope.delivery.ask import DeliveryRequest, answer_request
from lanescope.delivery.memory import Memory
from lanescope.delivery.moves import Builder, emit_move, join_turn, list_moves, list_turns
from lanescope.delivery.named import F16, FP8, LANE_ROW, NAMED
from lanescope.delivery.places import Fragment, Space, count_inner_bits
from lanescope.delivery.program import Convert, Load, Permute, Shuffle, simulate
from lanescope.delivery.solve import Delivery, list_fitting_orders, name_access, solve_delivery
from lanescope.emulate.launching.kernel import prepare_kernel
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.run import run_kernel
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from lanescope.shared.banks import get_access, make_address_use
from lanescope.shared.freeing import find_freeing_swizzle
from lanescope.shared.swizzle import Swizzle
from tests.cases import for_each
from tests.client import Client
from tests.oracle import deliveries
from tests.ptxas import nvrtc

needs_nvrtc = pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
LANE_NIBBLE = "(u:16 a:2) (f:4 b:2) -> (u b) (f a)"  # neighbours in memory are in two lanes
S4 = "mma.m16n8k64.row.col.s32.s4.s4.s32"
TYPES = {4: "u4", 8: "u8", 16: "f16", 32: "f32"}


def list_order(found: Delivery) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of the element at each place of memory."""
    assert found.memory
    return found.goal.space.split(found.memory.element_at)


# what public kernels do ---------------------------------------------------------------------------------------------


def test_marlins_permutation_is_the_order_that_one_wide_load_delivers() -> None:
    found = answer_request(NAMED["Marlin's weights"])
    n, k = list_order(found)
    assert (256 * (n // 16) + 16 * k + n % 16).tolist() == deliveries.list_marlin_weights()
    assert [step.says.split(":")[0] for step in found.steps] == ["ld.b128", "u4 → f16"]


def test_marlins_orders_of_scales() -> None:
    groups, columns = deliveries.list_marlin_scales()
    for name, expected in (("Marlin's scales", groups), ("Marlin's scales of whole columns", columns)):
        found = answer_request(NAMED[name])
        assert sum(list_order(found)).tolist() == expected and found.count == 1


def test_the_order_of_nibbles_for_the_fast_conversion() -> None:
    """Eight values of a lane in order come from nibbles 0 2 4 6 1 3 5 7: 75316420 from the highest on."""
    found = answer_request(NAMED["int4 → f16, 75316420"])
    _, value = list_order(found)
    assert value[:8].tolist() == list(deliveries.PACKED)
    assert "".join(map(str, value[7::-1].tolist())) == "75316420"


def test_fp8_v_is_transposed_by_ldmatrix_trans_and_byte_permutes() -> None:
    found = answer_request(NAMED["FP8 V, transposed"])
    load, *rest = found.instructions
    assert isinstance(load, Load) and load.matrix and load.matrix.instruction.ptx.endswith(".x4.trans.shared.b16")
    assert len(rest) == 4 and all(isinstance(one, Permute) for one in rest)
    assert {selector for one in rest if isinstance(one, Permute) for selector in one.selector} == {0x6420, 0x7531}
    kept = answer_request(NAMED["FP8 V, n in order"])
    assert kept.count > found.count and found.goal != found.wanted and kept.goal == kept.wanted


def test_an_fp8_accumulator_becomes_a() -> None:
    """Shuffles and byte permutes where k is kept; the conversion alone where k may be permuted."""
    kept, free = (answer_request(NAMED[f"FP8 accumulator → A{more}"]) for more in ("", ", k permuted"))
    assert {type(one) for one in kept.instructions} == {Convert, Shuffle, Permute}
    assert kept.count - free.count == 3 * 4  # of each of four registers
    assert {type(one) for one in free.instructions} == {Convert}


def test_the_least_swizzle_of_64_columns() -> None:
    found = answer_request(NAMED["bf16, 64 columns"])
    uses = [make_address_use(get_access(name_access(one)), list(one.address)) for one, _ in found.list_bank_costs()]
    assert {cost.ways for _, cost in found.list_bank_costs()} == {8}
    assert find_freeing_swizzle(uses).swizzle == Swizzle(3, 4, 3)
    request = DeliveryRequest(
        instruction=NAMED["bf16, 64 columns"].instruction, second=4, pitch_bytes=128, swizzle="128B"
    )
    swizzled = answer_request(request)
    assert swizzled.count == found.count == 4 and {cost.ways for _, cost in swizzled.list_bank_costs()} == {1}


# proofs that there is none ------------------------------------------------------------------------------------------


def test_ldmatrix_alone_transposes_no_bytes() -> None:
    request = DeliveryRequest(
        instruction=FP8, operand="b", first=2, source="columns", pitch_bytes=128, moves="ldmatrix ldmatrix.trans shfl"
    )
    found = answer_request(request)
    assert not found.found and found.exhausted
    assert "puts n0 at byte 0, but the operand has k0 there, and no allowed instruction moves it" in found.why
    orders = list_fitting_orders(found.goal, (), 8)
    assert orders["ldmatrix"] == ["k0", "k1", "k2", "k3"]  # 16 neighbours along k: K-major rows would do


def test_a_limit_is_not_a_proof() -> None:
    request = NAMED["FP8 V, n in order"]
    short = answer_request(replace(request, limit=12))
    assert not short.found and not short.exhausted and "at most 12 instructions" in short.why
    assert answer_request(replace(request, limit=13)).count == 13


def test_a_load_that_would_split_elements_is_named() -> None:
    mma = "mma.m16n8k8.row.col.f32.tf32.tf32.f32"
    found = answer_request(DeliveryRequest(instruction=mma, source="columns", moves="ldmatrix.trans prmt"))
    assert found.exhausted and "ldmatrix.trans moves units of 16 bits; it would split an element of 32." in found.why


def test_a_conversion_longer_than_the_limit_is_named() -> None:
    found = answer_request(replace(NAMED["Marlin's weights"], second=2, limit=64))
    assert found.why == "The conversion alone needs 72 instructions; the limit is 64."


@for_each("width", [4, 8, 16])
def test_a_turn_moves_what_its_order_says(width: int) -> None:
    """A byte's bit, a lane bit and a register bit in a cycle, both ways round, with an order of the lanes."""
    count = count_inner_bits(width) + 7
    space = Space(("m", "k"), (count, 0))
    before = Fragment(space, width, tuple(1 << n for n in range(count)))
    elements = before.list_elements()
    lanes = [move for move in list_moves(width, count, ("shfl",)) if move.kind == "lanes"][::17]
    for turn, order in product(list_turns(width, count, ("prmt", "shfl")), lanes):
        move = join_turn(turn, order)
        builder = Builder(list(range(4)), width, [], 4)
        emit_move(move, builder)
        held = simulate(builder.instructions, {n: elements[:, n] for n in range(4)}, None)
        after = Fragment(space, width, tuple(1 << p for p in move.order)).list_elements()
        assert len(builder.instructions) == move.cost == 12
        assert all(np.array_equal(held[register], after[:, n]) for n, register in enumerate(builder.registers))


def test_rows_of_36_bytes_take_32_bit_loads() -> None:
    mma = "mma.m16n8k8.row.col.f32.tf32.tf32.f32"
    found = answer_request(DeliveryRequest(instruction=mma, source="rows", pitch_bytes=36))
    assert [step.says for step in found.steps] == ["ld.b32"] and found.count == 4
    refused = answer_request(DeliveryRequest(instruction=mma, source="rows", pitch_bytes=36, moves="ldmatrix"))
    assert not refused.found and "ldmatrix needs runs of 4 elements; the aligned runs have 1." in refused.why


# against exhaustive search, and by chance ---------------------------------------------------------------------------

SETS = (
    (("prmt", "movmatrix"), ("ldmatrix", "ldmatrix.trans", "ld.32", "ld.64", "ld.128"), 64),
    (("prmt",), ("ldmatrix", "ld.64"), 64),
    (("prmt", "shfl"), ("ld.32", "ldmatrix.trans"), 5),
)


def make_problem(seed: int, width: int, registers: int) -> tuple[Fragment, Memory]:
    """A goal and a storage whose bits are shuffled: some at random, most as they lie."""
    rng = np.random.default_rng(seed)
    count = count_inner_bits(width) + 5 + registers
    space = Space(("m", "k"), (count // 2, count - count // 2))
    vectors, places = ([1 << n for n in range(count)] for _ in range(2))
    for bits, swaps in ((vectors, 2), (places, int(rng.integers(1, 4)))):
        for _ in range(swaps):
            a, b = rng.integers(0, count, 2)
            bits[a], bits[b] = bits[b], bits[a]
    address = np.zeros(1, np.int64)
    for place in places:
        address = np.concatenate([address, address ^ place])
    return Fragment(space, width, tuple(vectors)), Memory(space, width, address)


@for_each("seed", range(6))
def test_no_program_is_shorter(seed: int) -> None:
    """The same cost as an exhaustive search over arrays, or none in both."""
    width = (8, 16)[seed % 2]
    wanted, memory = make_problem(seed, width, 1)
    moves, names, limit = SETS[seed % 3]
    found = solve_delivery(wanted, TYPES[width], memory, allowed=(*moves, *names), limit=limit)
    goal = wanted.list_elements().transpose(1, 0, 2)
    least = deliveries.search_arrays(goal, memory.address, width, moves, names, limit)
    assert (found.count if found.found else None) == least


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from((4, 8, 16, 32)), st.integers(0, 1))
def test_the_simulated_program_is_the_goal(seed: int, width: int, registers: int) -> None:
    wanted, memory = make_problem(seed, width, registers)
    found = solve_delivery(wanted, TYPES[width], memory, limit=9)
    if not found.found:
        assert not found.steps and found.why
        return
    assert found.count == len(found.instructions) <= 9
    held = found.simulate_steps()
    for step, registers_then in zip(found.steps, held, strict=True):
        assert step.after.width == width and len(registers_then) >= step.after.registers
    elements = wanted.list_elements()
    for number, register in enumerate(found.registers):
        assert np.array_equal(held[-1][register], elements[:, number])


def test_a_wrong_selector_is_no_certificate() -> None:
    found = answer_request(NAMED["FP8 V, transposed"])
    assert found.certified
    broken = found.steps[1].instructions[0]
    assert isinstance(broken, Permute)
    object.__setattr__(broken, "selector", (0x6421,) * 32)
    assert not found.certified


# executed -----------------------------------------------------------------------------------------------------------


def run_cases(cases: Sequence[delivery_runs.DeliveryCase], target: str) -> None:
    """Every word of every register, in the emulator."""
    texts = [f"namespace n{n} {{\n{rename_kernel(case.render_kernel(), n)}}}\n" for n, case in enumerate(cases)]
    ptx, log = nvrtc.compile_ptx("".join(texts), target, optimized=True)
    assert not log, log[:2000]
    module = parse_module(ptx)
    for number, case in enumerate(cases):
        out = np.zeros(len(case.expected), np.uint32)
        launch = {
            "kernel": f"k{number}",
            "grid": [1, 1, 1],
            "block": [32, 1, 1],
            "args": ["out", "in"],
            "buffer": {"in": {"type": "u32"}, "out": {"type": "u32", "output": "out"}},
        }
        ran = run_kernel(prepare_kernel(module, parse_launch(launch), {"in": case.words_in, "out": out}))
        assert ran.passed, (case.key, ran.findings)
        assert case.is_expected(ran.outputs["out"].array), case.key


@needs_nvrtc
def test_the_generated_code_runs() -> None:
    cases = list(delivery_runs.generate_cases(count=5))
    assert len(cases) == len(NAMED) + 5
    run_cases(cases, "sm_90a")


RARE = (
    DeliveryRequest(instruction=FP8, operand="b", first=2, source="columns", moves="ldmatrix.b8 prmt"),
    DeliveryRequest(instruction=LANE_ROW, type="bf16", stored="u4", source="chosen"),
    DeliveryRequest(instruction=LANE_ROW, type="u8", stored="u4", source="chosen"),
    DeliveryRequest(instruction=LANE_ROW, type="f16", stored="u8", source="rows"),
    DeliveryRequest(instruction=LANE_ROW, type="bf16", stored="f32", source="rows"),
    DeliveryRequest(instruction=LANE_ROW, type="e5m2", stored="f16", source="columns"),
    DeliveryRequest(instruction=F16, stored="f32", source="accumulator"),
    DeliveryRequest(instruction=F16, stored="e4m3", source="rows"),
    DeliveryRequest(instruction=LANE_ROW, type="f16", stored="e5m2", source="chosen"),
    DeliveryRequest(
        instruction=S4, operand="b", first=8, source="columns", renumber="n", moves="ld.32 lop3 prmt", limit=99
    ),
    DeliveryRequest(instruction=LANE_NIBBLE, type="u4", source="rows", moves="ld.32 shfl lop3"),
    DeliveryRequest(instruction=F16, operand="a", source="columns", moves="ldmatrix movmatrix prmt"),
)


@needs_nvrtc
def test_every_conversion_and_move_runs() -> None:
    """Rows of conversions, nibbles between lanes and registers, movmatrix, and the 8-bit ldmatrix of sm_100a."""
    found = [answer_request(request) for request in RARE]
    assert all(one.found for one in found), [one.why for one in found]
    assert found[10].count == 1 + 5
    kinds = {type(one).__name__ for delivery in found for one in delivery.instructions}
    assert kinds >= {"Load", "Permute", "Shift", "Blend", "Transpose", "Convert"}
    assert found[0].count == 5 and found[0].goal == found[0].wanted  # one load, a prmt a register: n stays in order
    rng = np.random.default_rng(1)
    run_cases([delivery_runs.make_case(str(n), one, rng) for n, one in enumerate(found)], "sm_100a")


@for_each(
    ("fields", "field"),
    [
        ({"operand": "x"}, "operand"),
        ({"instruction": "mma.m16n8k17"}, "instruction"),
        ({"instruction": "(t:16) (e:8) -> (t) (e)"}, "instruction"),
        ({"first": 3}, "first"),
        ({"stored": "u4", "instruction": FP8}, "stored"),
        ({"source": "layout", "layout": "(8,8:x"}, "layout"),
        ({"source": "layout", "layout": "(8,8):(8,1)"}, "layout"),
        ({"moves": "ldmatrix wgmma"}, "moves"),
        ({"renumber": "n"}, "renumber"),
        ({"source": "rows", "pitch_bytes": 2}, "pitch_bytes"),
        ({"source": "rows", "pitch_bytes": 1 << 20}, "pitch_bytes"),
        ({"source": "layout", "layout": "(16,16):(1,1)"}, "layout"),
        ({"operand": "b", "source": "accumulator"}, "operand"),
        ({"second": 64, "first": 64}, "first"),
    ],
)
def test_refused_requests_name_the_field(fields: dict[str, object], field: str) -> None:
    with pytest.raises(LayoutError) as refused:
        answer_request(DeliveryRequest(**{"instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32", **fields}))  # type: ignore[arg-type]
    assert refused.value.field == field and refused.value.hint


# /deliver as page, json and command -----------------------------------------------------------------------------------

FP8_V = list_changes(NAMED["FP8 V, transposed"])


def test_the_json_has_the_map_after_each_step(client: Client) -> None:
    told = client.get("/api/v1/deliver", params=FP8_V).json()
    assert told["found"] and told["certified"] and told["instructions"] == 5
    assert [(step["says"].split(".")[0], step["instructions"]) for step in told["steps"]] == [
        ("ldmatrix", 1),
        ("prmt", 4),
    ]
    assert told["steps"][-1]["after"] == told["goal"]
    assert told["memory"][:4] == ["n0", "n1", "n2", "n3"] and told["memory"][7] == "k0"
    assert told["renumbering"] == ["n0 ← n1", "n1 ← n2", "n2 ← n3", "n3 ← n0"]
    held = {bit["place"]: bit["holds"] for bit in told["goal"]}
    assert (held["byte 0"], held["byte 1"], held["lane 0"]) == ("k0", "k1", "k2")


def test_the_least_swizzle_is_named(client: Client) -> None:
    told = client.get("/api/v1/deliver", params=list_changes(NAMED["bf16, 64 columns"])).json()
    assert (told["wavefronts"], told["ideal_wavefronts"]) == (128, 16)
    assert told["least_swizzle"] == "Swizzle<3,4,3>"


def test_hardware_is_named_where_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = {
        "meta": {"device": "NVIDIA H200", "date": "2026-11-21", "dates": {"delivery": "2026-11-27"}},
        "delivery": {"named": {"ran": 9, "agreed": 9}, "x": {"ran": 2, "agreed": 1}},
    }
    monkeypatch.setattr(facts.hardware_runs, "load_evidence", lambda: (ran,))
    assert facts.describe_evidence() == (
        "Programs of this kind were executed on an NVIDIA H200 on 2026-11-27, 10 of 11 right in every register."
    )
    monkeypatch.setattr(facts.hardware_runs, "load_evidence", lambda: ())
    assert "not on hardware" in facts.describe_evidence()
