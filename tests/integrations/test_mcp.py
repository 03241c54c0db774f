"""`lanescope mcp` as an agent meets it: the SDK's client over standard input and output with the real process."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from mcp import types
from mcp.shared.exceptions import MCPError

from lanescope.app.agents.tools import BLOCKED, ROWS, TOOLS, WGMMA, answer_call
from lanescope.app.emulate.feature import ADD
from tests.integrations.mcp_session import Session, open_session

Json = dict[str, Any]
CONTRACT = (
    "find_instruction where verify_descriptor encode_descriptor verify_source verify_instruction_descriptor"
    " bank_conflicts solve_swizzle plan_load convert_layouts explain_refusal explain_message emulate"
).split()
MOST = 2000  # bytes of an answer
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
ENDLESS = ADD.replace("  ret;", "AGAIN:\n  bra AGAIN;\n  ret;")
LAUNCH = {"grid": [1], "block": [32], "args": ["C"], "buffer": {"C": {"shape": [32], "type": "u32", "fill": 1}}}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session() as opened:
        yield opened


@pytest.fixture(scope="module")
def tools(session: Session) -> dict[str, Any]:
    return {tool.name: tool for tool in session.ask("list_tools").tools}


def test_the_tools_are_those_of_the_contract(tools: dict[str, Any]) -> None:
    assert list(tools) == CONTRACT
    assert all(tool.description and tool.title and tool.annotations.read_only_hint for tool in tools.values())


def list_objects(schema: Any) -> Iterator[Json]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for name, value in schema.items():
            yield from list_objects(value) if name != "examples" else ()
    for item in schema if isinstance(schema, list) else ():
        yield from list_objects(item)


@pytest.mark.parametrize("name", CONTRACT)
def test_a_schema_is_strict_and_describes_each_field(tools: dict[str, Any], name: str) -> None:
    schema = tools[name].input_schema
    Draft202012Validator.check_schema(schema)
    for held in list_objects(schema):
        assert held["type"] == "object" and held["additionalProperties"] is False
        for field, says in held["properties"].items():
            assert says.get("description") or "$ref" in says, (name, field)
    judge = Draft202012Validator(schema)
    judge.validate(TOOLS[name].example)
    assert not judge.is_valid(TOOLS[name].example | {"no_such_field": 1})
    assert not judge.is_valid(TOOLS[name].example | {"from": -1})


@pytest.mark.parametrize("name", CONTRACT)
def test_the_example_of_a_tool_is_answered(session: Session, name: str) -> None:
    called = session.call(name, TOOLS[name].example)
    assert not called.refused and called.bytes < MOST
    canonical = json.dumps(
        {"input": TOOLS[name].example, "tool": name}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert called.answer["input_hash"] == f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:16]}"
    assert re.fullmatch(r"\d+\.\d+\.\d+", called.answer["version"])


# What each tool says, worked by hand or taken from PTX's pages: input, and fields of the answer.
RIGHT: tuple[tuple[str, Json, Json], ...] = (
    ("find_instruction", {"q": "HMMA.16816.F32.BF16"}, {"count": 1}),
    ("find_instruction", {"q": "SM90_64x128x16_F32BF16BF16_SS"}, {"count": 1}),
    ("find_instruction", {"family": "wgmma", "shape": "m64n8k8", "target": "sm_80"}, {"count": 0}),
    ("where", {"place": "[0][8]", "tile": {"swizzle": "128B"}}, {"count": 1}),
    ("verify_descriptor", TOOLS["verify_descriptor"].example, {"verdict": "mismatch", "matched": 0}),
    (
        "verify_descriptor",
        TOOLS["verify_descriptor"].example | {"descriptor": "0x4000004000010100"},
        {"verdict": "match", "matched": 1024},
    ),
    ("verify_descriptor", {"descriptor": "0x4000004000010100", "instruction": WGMMA}, {"verdict": "unknown"}),
    (
        "encode_descriptor",
        {"start_address": 0x1000, "lbo_bytes": 16, "sbo_bytes": 1024, "swizzle": "128B"},
        {"descriptor": "0x4000004000010100"},
    ),
    ("verify_instruction_descriptor", {"value": "0x08400490", "kind": "f16"}, {"verdict": "legal", "repair": None}),
    (
        "verify_instruction_descriptor",
        {"value": "0x08400490", "kind": "f16", "expected": {"m": 128, "n": 256, "a": "bf16", "b": "bf16", "d": "f32"}},
        {"verdict": "match"},
    ),
    ("bank_conflicts", {"access": "ld.shared.b32", "address": [128 * n for n in range(32)]}, {"wavefronts": 32}),
    ("bank_conflicts", {"access": "ldmatrix.x4", "row_bytes": 128, "swizzle": "128B"}, {"wavefronts": 4, "ways": 1}),
    ("solve_swizzle", TOOLS["solve_swizzle"].example, {"free": True, "mode": "128B"}),
    ("plan_load", TOOLS["plan_load"].example, {"verdict": "match", "ways": 1}),
    (
        "plan_load",
        TOOLS["plan_load"].example | {"load": "ldmatrix.m8n8.x4.trans.shared.b16"},
        {"verdict": "mismatch", "matched": 32},  # the diagonals of four 8 × 8 matrices
    ),
    ("convert_layouts", {"text": BLOCKED, "to": BLOCKED, "shape": [32, 32]}, {"way": "same", "in_thread": 1024}),
    ("explain_refusal", {"text": MMA}, {"legal": True, "targets": "sm_80 and later"}),
    ("explain_refusal", {"text": MMA.replace("k16", "k12")}, {"legal": False}),
    ("explain_refusal", {"text": WGMMA, "target": "sm_80"}, {"legal": False}),
    ("explain_refusal", {"text": "0x4000004000010100"}, {"legal": True}),
    ("explain_message", {"text": "ptxas fatal : Unknown modifier '.m64n12k16'"}, {"count": 1}),
    ("emulate", TOOLS["emulate"].example, {"status": "finished"}),
    ("emulate", {"ptx": ENDLESS, "launch": LAUNCH | {"block": [1]}}, {"status": "budget"}),
)


@pytest.mark.parametrize(("name", "given", "says"), RIGHT)
def test_what_a_tool_answers(session: Session, name: str, given: Json, says: Json) -> None:
    called = session.call(name, given)
    assert not called.refused and called.bytes < MOST
    assert {field: called.answer.get(field) for field in says} == says


def test_verify_descriptor_says_cause_repair_and_what_it_assumes(session: Session) -> None:
    given = TOOLS["verify_descriptor"].example
    (cause,) = session.call("verify_descriptor", given).answer["diagnoses"]
    assert cause["code"] == "start_wrong" and cause["fix"]["descriptor"] == "0x4000004004000100"
    assumed = session.call("verify_descriptor", {**given, "slice": {"mn": 0}}).answer["assumed"]
    assert assumed == {"format": "wgmma", "slice.k": 0, "storage.swizzle_by": "address"}


def test_verify_source_finds_the_line_and_its_edit(session: Session) -> None:
    (finding,) = session.call("verify_source", TOOLS["verify_source"].example).answer["findings"]
    assert finding["code"] == "shifts_of_32_bits" and finding["place"]["line"] == 4
    assert finding["edits"][0]["text"] == "(uint64_t)"


ROWS_OF_144 = {"kind": "rows", "inner": "K", "pitch_bytes": 144, "base": 1024}
PLACES: tuple[tuple[Json, Json], ...] = (
    ({"place": "D[5][9]", "instruction": "wgmma.mma_async.m64n16k16.f32.f16.f16"}, {"thread": 20, "value": 5}),
    ({"place": "d5 of thread 20", "instruction": "wgmma.mma_async.m64n16k16.f32.f16.f16"}, {"row": 5, "col": 9}),
    ({"place": "matrix 1[3][2]", "instruction": "ldmatrix.m8n8.x4.shared.b16"}, {"thread": 13, "register": 1}),
    ({"place": "lane 3", "instruction": "tcgen05.ld.32x32b.x2.b32"}, {"lane": 3, "column": 0}),
    ({"place": "SFA[3][1]", "instruction": "mma.m16n8k64 mxf4"}, {"thread": 12, "bit": 8}),
    ({"place": "E[4][2]", "instruction": "mma.sp.m16n8k32 f16"}, {"thread": 16, "bit": 8}),
    ({"place": "[1][8]", "tile": {"swizzle": "128B"}}, {"byte": 128, "bank": 0}),
    ({"place": "byte 128", "tile": {"swizzle": "128B"}}, {"mn": 1, "k": 8}),
    (
        {"place": "[3][9]", "stored": {"mn": 64, "k": 64, "storage": ROWS_OF_144}},
        {"byte": 1024 + 3 * 144 + 18, "offset": 450},
    ),
    (
        {"place": "byte 1475", "stored": {"mn": 64, "k": 64, "storage": ROWS_OF_144}},
        {"mn": 3, "k": 9},
    ),
    ({"place": "[70][3]", "tensor_memory": {"m": 128, "n": 64}}, {"lane": 70, "column": 3}),
    ({"place": "lane 32 column 5", "tensor_memory": {"m": 64, "n": 64}}, {"row": 16, "col": 5}),
    ({"place": "[37][1]", "scale_factors": {"column": 0}}, {"lanes": [5, 37, 69, 101], "column": 1}),
    ({"place": "lane 69 column 1 byte 1", "scale_factors": {"column": 0}}, {"row": 37, "factor": 1}),
    ({"place": "word 44 bit 5", "metadata": {}}, {"row": 3, "group": 5}),
    ({"place": "[5][9]", "triton": {"text": BLOCKED, "shape": [32, 16]}}, {"thread": 22, "register": 1}),
    ({"place": "thread 37 register 2", "triton": {"text": BLOCKED, "shape": [32, 16]}}, {"row": 9, "col": 6}),
    ({"place": "thread 9 value 3", "tv": {"cute": "((4,8),(2,2)):((32,1),(16,8))", "tile": [16, 8]}}, {"row": 10}),
    (
        {"place": "C[5][9]", "tiled_mma": {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(2,2,1)"}},
        {"warp": 2, "lane": 20, "value": 1},
    ),
)


@pytest.mark.parametrize(("given", "says"), PLACES)
def test_where_answers_both_directions(session: Session, given: Json, says: Json) -> None:
    called = session.call("where", given)
    assert not called.refused, called.answer
    assert says.items() <= called.answer["found"][0].items()


WRONG: tuple[tuple[str, Json, str], ...] = (
    ("find_instruction", {}, "q"),
    ("find_instruction", {"family": "wgma"}, "family"),
    ("where", {"place": "A[5][9]"}, "instruction"),
    ("where", {"place": "A[99][9]", "instruction": MMA}, "place"),
    ("where", {"place": "[5][99]", "tile": {}}, "place"),
    ("where", {"place": "A[5][9]", "tensor_memory": {"m": 128, "n": 64}}, "place"),  # it is about D
    ("where", {"place": "SFB[5][1]", "scale_factors": {"side": "a"}}, "place"),
    ("where", {"place": "[5][9]", "scale_factors": {}}, "place"),
    ("where", {"place": "[5][900]", "metadata": {}}, "place"),
    ("where", {"place": "[5][9]", "tile": {"swizle": "128B"}}, "tile.swizle"),
    ("where", {"place": "[5][9]", "tile": {}, "instruction": MMA}, "tile"),
    ("where", {"place": "[5][9]", "tile": {"swizzle": "256B"}}, "tile.swizzle"),
    ("where", {"place": "[5][9]", "stored": {"k": 9, "storage": ROWS_OF_144}}, "stored.mn"),
    (
        "where",
        {"place": "[5][9]", "stored": {"mn": 9, "k": 9, "storage": {"kind": "rows"}}},
        "stored.storage.pitch_bytes",
    ),
    ("verify_descriptor", TOOLS["verify_descriptor"].example | {"storage": {"kind": "canonica"}}, "storage.kind"),
    ("verify_descriptor", {"descriptor": "xyz", "instruction": WGMMA}, "descriptor"),
    ("encode_descriptor", {"start_address": 17}, "start_address"),
    ("encode_descriptor", {"tile": {"mn": 64}, "lbo_bytes": 16}, "lbo_bytes"),
    ("verify_source", {"files": []}, "files"),
    ("verify_source", {"file": "x"}, "file"),
    ("verify_instruction_descriptor", {"value": "0x0"}, "kind"),
    ("verify_instruction_descriptor", {"value": "0x0", "kind": "f16", "expected": {"m": 1, "n": 8}}, "expected.m"),
    ("bank_conflicts", {"access": "ldmatrix.x9", "address": [0]}, "access"),
    ("bank_conflicts", {"address": [0], "row_bytes": 64}, "row_bytes"),
    ("solve_swizzle", {"accesses": [{"access": "ldmatrix.x4", "adress": [0]}]}, "accesses.0.adress"),
    ("plan_load", {"mma": MMA}, "storage"),
    ("convert_layouts", {"text": BLOCKED, "to": "#ttg.nonsense<{}>", "shape": [32, 32]}, "to"),
    ("explain_refusal", {"text": MMA, "target": "sm_1"}, "target"),
    ("explain_message", {"text": ""}, "text"),
    ("emulate", {"ptx": ADD, "launch": {"grid": [1]}}, "block"),
    ("emulate", {"ptx": ADD, "launch": LAUNCH, "buffers": {"C": "no base64"}}, "buffers.C"),
    ("where", {"place": "A[5][9]", "instruction": MMA, "show": "fond"}, "show"),
    ("where", {"place": "A[5][9]", "instruction": MMA, "show": "found", "from": 7}, "from"),
)


@pytest.mark.parametrize(("name", "given", "field"), WRONG)
def test_a_wrong_input_is_a_tool_error_that_says_what_is_allowed(
    session: Session, name: str, given: Json, field: str
) -> None:
    called = session.call(name, given)
    error = called.answer["error"]
    assert called.refused and called.bytes < MOST
    assert error["field"] == field and error["message"] and error["hint"]
    assert called.answer["input_hash"].startswith("sha256:")


def test_an_unknown_tool_is_named_with_the_nearest(session: Session) -> None:
    called = session.call("verify_descriptors", {})
    assert called.refused and "Did you mean verify_descriptor?" in called.answer["error"]["hint"]


FAR = "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>"
ILLEGAL = "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f0}, %rd1, %rd2, 1, 1, 1, 0, 0;\n"
LARGE: tuple[tuple[str, Json], ...] = (
    ("find_instruction", {"family": "wgmma"}),
    ("find_instruction", {"q": "m"}),
    ("where", {"place": "row 3 of D", "instruction": "wgmma.mma_async.m64n256k16.f32.f16.f16"}),
    ("where", {"place": "warp 1", "instruction": "wgmma.mma_async.m64n256k16.f32.f16.f16"}),
    ("where", {"place": "thread 0", "tv": {"cute": "(32,1024):(1024,1)", "tile": [256, 128]}}),
    ("verify_descriptor", {"descriptor": "0x4000004000010100", "instruction": WGMMA.replace("n64", "n256")}),
    ("encode_descriptor", {"tile": {"mn": 4096, "k": 512, "swizzle": "32B"}}),
    ("verify_source", {"files": [{"name": "k.ptx", "text": f".version 8.0\n.target sm_90a\n{ILLEGAL * 50}"}]}),
    ("verify_source", {"files": [{"name": "a" * 200, "text": ADD}, {"name": "b" * 200, "text": "x" * 9000}]}),
    ("solve_swizzle", {"accesses": [{"access": "ldmatrix.x4"}, {"access": "st.shared.b128", "pattern": "along"}] * 8}),
    ("plan_load", TOOLS["plan_load"].example | {"load": "ldmatrix.m8n8.x1.trans.shared.b16"}),
    ("convert_layouts", {"text": BLOCKED, "to": FAR, "shape": [128, 128]}),
    ("explain_refusal", {"text": "x.y " * 900}),
    ("emulate", {"ptx": ADD, "launch": LAUNCH | {"buffer": {"C": {"shape": [60000], "type": "u32"}}}}),
    ("where", {"place": "é" * 399, "tile": {}}),
)


@pytest.mark.parametrize(("name", "given"), LARGE)
def test_the_largest_answers_fit_and_count_what_they_leave_out(session: Session, name: str, given: Json) -> None:
    called = session.call(name, given)
    assert called.bytes < MOST
    if not called.refused and "left_out" in called.answer:
        part = next(iter(called.answer["left_out"]))
        again = session.call(name, {**given, "show": part})
        assert not again.refused and again.bytes < MOST and part in again.answer


def test_a_long_list_is_read_in_parts(session: Session) -> None:
    """Every value of a buffer, and every character of generated code, comes with `show` and `from`."""
    array = np.arange(700, dtype=np.uint32) * 1000003
    stream = io.BytesIO()
    np.save(stream, array)
    launch = LAUNCH | {"buffer": {"C": {"output": "kept"}}}
    given: Json = {"ptx": ADD, "launch": launch, "buffers": {"C": base64.b64encode(stream.getvalue()).decode()}}
    wanted = array.copy()
    wanted[:32] += 1
    found: list[int] = []
    while len(found) < len(array):
        called = session.call("emulate", {**given, "show": "outputs.C.values", "from": len(found)})
        assert not called.refused, called.answer
        found += called.answer["outputs.C.values"]
    assert found == wanted.tolist()
    plan = TOOLS["plan_load"].example
    code = session.call("plan_load", plan).answer["code"]
    assert session.call("plan_load", {**plan, "show": "code", "from": 100}).answer["code"] == code[100:]


@pytest.mark.parametrize("row", [row for row in ROWS if row.assumed], ids=lambda row: row.name)
def test_an_assumed_default_is_what_the_answer_rests_on(row: Any) -> None:
    """Giving every default that a call assumes changes nothing but the hash and the list of what is assumed."""
    bare = {
        name: value for name, value in row.example.items() if name not in ("slice", "operand", "major", "row_bytes")
    }
    first = answer_call(row.name, bare)[0]
    given = json.loads(json.dumps(bare))
    for path, value in first.get("assumed", {}).items():
        *outer, name = path.split(".")
        held = given
        for step in outer:
            held = held.setdefault(step, {})
        held[name] = value
    second = answer_call(row.name, given)[0]
    assert "assumed" in first and "assumed" not in second and given != bare
    own = ("assumed", "input_hash")
    assert {name: value for name, value in second.items() if name not in own} == {
        name: value for name, value in first.items() if name not in own
    }


def test_the_hash_is_of_the_input_alone(session: Session) -> None:
    one, same, other = ({"q": "mma", "type": "f64"}, {"type": "f64", "q": "mma"}, {"q": "mma", "type": "f16"})
    hashes = [session.call("find_instruction", given).answer["input_hash"] for given in (one, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]


# resources ------------------------------------------------------------------------------------------------------------


def read(session: Session, uri: str) -> str:
    (content,) = session.ask("read_resource", uri).contents
    assert content.mime_type == "text/markdown"
    return str(content.text)


def test_resources_are_listed_and_read(session: Session) -> None:
    listed = {one.uri: one for one in session.ask("list_resources").resources}
    assert len(listed) > 45 and all(one.title and one.description for one in listed.values())
    for uri in [*listed][::12]:
        assert read(session, uri).startswith("# ")
    assert "NVIDIA H100 80GB HBM3" in read(session, "lanescope://evidence")
    assert "lanescope mcp" in read(session, "lanescope://guide/index")


def test_the_card_of_an_instruction_has_its_formulas(session: Session) -> None:
    card = read(session, f"lanescope://instruction/{MMA}")
    assert "`(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)`" in card and "groupID = %laneid >> 2" in card


def test_templates_complete(session: Session) -> None:
    templates = {one.name: one.uri_template for one in session.ask("list_resource_templates").resource_templates}
    for name, argument, begun, wanted in (
        ("instruction", "ptx", "wgmma.mma_async.m64n8k16.f32.b", ["wgmma.mma_async.m64n8k16.f32.bf16.bf16"]),
        ("guide", "slug", "swiz", ["swizzle", "swizzle-units"]),
    ):
        reference = types.ResourceTemplateReference(type="ref/resource", uri=templates[name])
        assert session.ask("complete", reference, {"name": argument, "value": begun}).completion.values == wanted


@pytest.mark.parametrize(
    ("uri", "allowed"),
    [
        ("lanescope://guide/nope", "/llms.txt lists the pages"),
        ("lanescope://instruction/mma.m16n8k12", "Nearest: mma.sync.aligned.m16n8k16"),
        ("lanescope://evidence/x", "lanescope://evidence"),
        ("file:///etc/passwd", "There are lanescope://guide/index"),
    ],
)
def test_an_unknown_resource_is_refused_with_what_there_is(session: Session, uri: str, allowed: str) -> None:
    with pytest.raises(MCPError) as refused:
        read(session, uri)
    assert allowed in str(refused.value)


# calls side by side ---------------------------------------------------------------------------------------------------


def test_a_call_beside_a_long_one_is_answered_and_a_cancelled_one_ends(session: Session) -> None:
    """The endless kernel takes seconds; meanwhile another call is answered, and cancelling frees the thread."""

    async def run() -> float:
        async with anyio.create_task_group() as group:
            given = {"ptx": ENDLESS, "launch": LAUNCH | {"block": [1024]}}
            group.start_soon(partial(session.client.call_tool, "emulate", given))
            await anyio.sleep(0.05)
            began = time.perf_counter()
            await session.client.call_tool("where", TOOLS["where"].example)
            seconds = time.perf_counter() - began
            group.cancel_scope.cancel()
        return seconds

    assert session.portal.call(run) < 5
    assert not session.call("where", TOOLS["where"].example).refused
