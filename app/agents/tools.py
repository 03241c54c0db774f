"""The tools of `lanescope mcp`: a row per tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.agents import instructions, kernels, where, words
from lanescope.app.agents.tool import AgentTool, refuse_call, require_utf8
from lanescope.app.banks.facts import build_bank_cost, solve_swizzle
from lanescope.app.banks.questions import AccessBody, SolveMany
from lanescope.app.check.answer import CheckBody, answer_check
from lanescope.app.emulate.feature import ADD
from lanescope.app.emulate.forms import EmulateBody
from lanescope.app.kit.fact import Json
from lanescope.app.kit.feature import Tool
from lanescope.app.layouts.feature import BLOCKED
from lanescope.app.layouts.triton_facts import ConvertBody, build_conversion
from lanescope.app.memory.questions import VerifyBody
from lanescope.app.memory.verdicts import build_verified
from lanescope.app.messages.facts import EXAMPLE, MessageQuestion, answer_message
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value


def _ask(question: type, answer: Any, *, raw: bool = False) -> Tool[Any, Any]:
    return Tool(question=question, answer=answer, raw=raw)


_STORED = ("storage.swizzle", "storage.swizzle_by", "storage.base")
WGMMA = "wgmma.mma_async.m64n64k16.f32.f16.f16"
ROWS = (
    AgentTool(
        name="find_instruction",
        title="Find an instruction",
        about="Find the PTX text of a tensor-core instruction (wmma, mma, mma.sp, wgmma, tcgen05, ldmatrix, stmatrix)"
        " from a name, a shape and types, a CUTLASS atom or a SASS opcode. Use it before writing inline PTX, and to"
        " learn which targets have it. Answers the texts that fit, plain ones first, and details of the first.",
        tool=_ask(instructions.FindQuestion, instructions.find_instructions),
        keep=("count", "first", "notes", "instructions"),
        example={"q": "wgmma 64x128x16 bf16"},
    ),
    AgentTool(
        name="where",
        title="Where an element is",
        about="Which lane, register and value holds an element of a fragment, or what a lane, register or byte holds:"
        " both directions. Give place, and the one thing it is in: instruction (registers of mma, wgmma, wmma,"
        " ldmatrix, tcgen05.ld; scale factors SFA/SFB and metadata E of mma), tile or stored (bytes of shared memory),"
        " tensor_memory, scale_factors (tcgen05), metadata (CUTLASS's order), triton, tv or tiled_mma.",
        tool=_ask(where.WhereQuestion, where.find_place),
        keep=("place", "of", "count", "found", "also", "notes"),
        example={"place": "A[5][9]", "instruction": "mma.m16n8k16.row.col.f32.bf16.bf16.f32"},
    ),
    AgentTool(
        name="verify_descriptor",
        title="Verify a matrix descriptor",
        about="Whether a 64-bit shared-memory matrix descriptor of wgmma (or tcgen05, with its idesc) reads the tile"
        " where your program stored it. Say how it is stored: canonical (CuTe/CUTLASS tile), rows (row pitch, one TMA"
        " box), atoms (panels, several TMA boxes) or cute (a layout). Answers the verdict, the first wrong element, the"
        " cause by name, and the word or the storage that would be right. Without storage: the standard tiles that the"
        " word reads.",
        tool=_ask(VerifyBody, build_verified, raw=True),
        keep=(
            *("verdict", "descriptor", "matched", "total", "first_mismatch", "diagnoses", "described", "malformed"),
            *("caution", "fits", "warnings"),
        ),
        assumed={"format": (), "operand": (), "major": ("idesc",), "slice.mn": (), "slice.k": ()}
        | dict.fromkeys(_STORED, ()),
        example={
            "descriptor": "0x4000004004000101",
            "instruction": WGMMA,
            "operand": "a",
            "major": "K",
            "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
            "slice": {"mn": 0, "k": 0},
        },
    ),
    AgentTool(
        name="encode_descriptor",
        title="Encode a matrix descriptor",
        about="The 64-bit shared-memory matrix descriptor of wgmma or tcgen05: from amounts in bytes (start_address,"
        " lbo_bytes, sbo_bytes, swizzle), or, with tile, those that read a swizzled tile: one for each step along K,"
        " with LBO, SBO, CuTe layouts and the TMA boxes that fill it.",
        tool=_ask(words.EncodeQuestion, words.encode_words, raw=True),
        keep=("descriptor", "fields", "lbo_bytes", "sbo_bytes", "unused", "bytes", "k_steps", "tma_box"),
        assumed={"format": ("tile",), "swizzle": ("tile",), "base_offset": ("tile",)}
        | {f"tile.{name}": () for name in ("element_bits", "major", "swizzle", "mn", "k", "base", "format")},
        example={"tile": {"mn": 128, "k": 64, "swizzle": "128B", "base": 1024}},
    ),
    AgentTool(
        name="verify_source",
        title="Verify source files",
        about="Check CUDA C++, PTX or Python source: every matrix descriptor, tensor map and MMA operand that the code"
        " decides is verified against the tile as the code stores it. Answers findings with place, cause, exact edits"
        " and what they assume, and counts what the source leaves open; define gives such names values. Nothing is read"
        " from disk: pass headers that are included as further files.",
        tool=_ask(CheckBody, answer_check),
        keep=(
            *("files", "descriptors", "tensor_maps", "kernels", "verified", "placed", "findings", "open", "doubts"),
            *("unverified", "gaps", "kernel_gaps", "unused"),
        ),
        example={
            "files": [
                {
                    "name": "kernel.cu",
                    "text": "uint64_t make_desc(uint32_t smem) {\n  uint64_t d = (smem & 0x3FFFF) >> 4;\n"
                    "  d |= (uint64_t)(1024 >> 4) << 32;\n  d |= 1 << 62;\n  return d;\n}\n",
                }
            ]
        },
    ),
    AgentTool(
        name="verify_instruction_descriptor",
        title="Verify an instruction descriptor",
        about="Whether a 32-bit instruction descriptor (idesc) of tcgen05.mma is legal for its kind, and with expected"
        " whether it describes that product. Answers the verdict, each differing field, the repaired word, and in which"
        " forms (cta_group::1, ::2, .ws) it is illegal.",
        tool=_ask(words.VerifyIdescQuestion, words.verify_idesc),
        keep=("word", "verdict", "says", "repair", "differences", "problems", "illegal_in", "warnings", "evidence"),
        required=("kind",),
        example={"value": "0x08400490", "kind": "f16", "expected": {"m": 64, "n": 256, "a": "bf16", "b": "bf16"}},
    ),
    AgentTool(
        name="bank_conflicts",
        title="Count bank conflicts",
        about="What one warp's access to shared memory costs: wavefronts, the ideal number, and the degree of conflict"
        " of each phase. Give the byte address of each lane (null for an inactive lane), or a pattern of rows with"
        " row_bytes and pad; swizzle is applied to the addresses.",
        tool=_ask(AccessBody, build_bank_cost, raw=True),
        keep=("access", "swizzle", "wavefronts", "ideal", "ways", "phases"),
        assumed={"access": (), "swizzle": ()} | dict.fromkeys(("pattern", "row_bytes", "pad"), ("address",)),
        example={"access": "ldmatrix.x4", "pattern": "ldmatrix", "row_bytes": 128},
    ),
    AgentTool(
        name="solve_swizzle",
        title="Find a swizzle without bank conflicts",
        about="The smallest Swizzle<B,M,S> of byte addresses that frees all accesses to one tile of bank"
        " conflicts, its name as a TMA/wgmma mode, or why there is none.",
        tool=_ask(SolveMany, solve_swizzle, raw=True),
        keep=("free", "swizzle", "mode", "why", "tried", "accesses"),
        assumed={"row_bytes": (), "pad": ()},
        example={"row_bytes": 128, "accesses": [{"access": "ldmatrix.x4", "pattern": "ldmatrix"}]},
    ),
    AgentTool(
        name="plan_load",
        title="Plan a load or store of a fragment",
        about="The ldmatrix (or stmatrix for c and d) that moves an operand of an mma between a stored tile and"
        " registers: whether it does, each lane's address, bank conflicts and CUDA C++ code. Without load the best one"
        " is chosen; a load that does not feed the operand is answered with those that would.",
        tool=_ask(kernels.PlanQuestion, kernels.plan_load, raw=True),
        keep=(
            *("load", "verdict", "matched", "total", "first_mismatch", "wavefronts", "ways", "notes", "instead"),
            *("code", "lane_addresses"),
        ),
        assumed={"operand": ()} | dict.fromkeys(_STORED, ()),
        example={
            "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 144},
            "mma": "mma.m16n8k16.row.col.f32.f16.f16.f32",
            "operand": "a",
        },
    ),
    AgentTool(
        name="convert_layouts",
        title="Convert between layouts",
        about="What a conversion between two distributed layouts of Triton or Gluon over one tensor moves: nothing,"
        " registers, within warps, or through shared memory, with the bank conflicts of that trip and the swizzle that"
        " frees it.",
        tool=_ask(ConvertBody, build_conversion),
        keep=("way", "places", "in_thread", "in_warp", "in_block", "trip", "order"),
        example={
            "text": BLOCKED,
            "to": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
            "shape": [32, 32],
        },
    ),
    AgentTool(
        name="explain_refusal",
        title="Explain a refusal",
        about="Why a PTX instruction (or another text) is not legal, which part is wrong, what is allowed there and the"
        " nearest legal texts; or that it is legal, and on which targets. Use it on ptxas errors about an instruction.",
        tool=_ask(instructions.RefusalQuestion, instructions.explain_refusal),
        keep=("legal", "what", "why", "allowed", "code", "field", "nearest", "targets", "notes"),
        example={"text": "mma.sync.aligned.m16n8k12.row.col.f32.f16.f16.f32"},
    ),
    AgentTool(
        name="explain_message",
        title="Explain a message",
        about="Why ptxas (C7504 to C7602 on wgmma and setmaxnreg, targets, forms), cuTensorMapEncode or a static"
        " assertion of CuTe prints a message, what to change, and the smallest program with and without it. Pass the"
        " output as it is, with everything around it.",
        tool=_ask(MessageQuestion, answer_message),
        keep=("count", "found", "numbers", "nearest"),
        required=("text",),
        example={"text": EXAMPLE},
    ),
    AgentTool(
        name="emulate",
        title="Emulate a kernel",
        about="Run one cluster of a kernel from its PTX on the CPU: how it ends (finished, deadlock, fault, budget),"
        " what is wrong (reads of unwritten shared memory, missing fences, accesses out of bounds), barriers, and the"
        " values of its buffers. launch has grid, block, args (numbers or buffer names) and buffer {NAME: {shape, type,"
        " fill: 0 | number | 'random'}} or tensor_map; buffers and compare are .npy files in base64. Bounded in steps,"
        " memory and time.",
        tool=_ask(EmulateBody, kernels.emulate_kernel, raw=True),
        keep=("status", "findings", "barriers", "steps", "notes", "outputs"),
        assumed={"block": ()},
        example={
            "ptx": ADD,
            "launch": {"grid": [1], "block": [32], "args": ["C"]}
            | {"buffer": {"C": {"shape": [32], "type": "u32", "fill": 1}}},
        },
    ),
)
TOOLS = {row.name: row for row in ROWS}


def answer_call(name: str, body: Mapping[str, Any]) -> tuple[Json, bool]:
    """Call a tool by its name; return its answer, and whether that is an error."""
    try:
        require_utf8(body)
        if name not in TOOLS:
            near = find_nearest_word(name, TOOLS)
            hint = f"{f'Did you mean {near}? ' if near else ''}There are {', '.join(TOOLS)}."
            raise LayoutError("unknown_tool", f"There is no tool '{shorten_value(name)}'.", hint, "name")
        return TOOLS[name].call(body), False
    except LayoutError as error:
        return refuse_call(name, body, error), True
