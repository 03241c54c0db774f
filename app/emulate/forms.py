"""Runs on a server: one cluster, with bounded steps and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from numpy.typing import NDArray

from lanescope.app.dump.base64_files import decode_base64
from lanescope.app.emulate.blocks import parse_block
from lanescope.app.emulate.facts import Emulated, build_answer
from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.question import declare_question, options_of, parsed_field, raw_field, word_field
from lanescope.emulate.launching.files import parse_npy
from lanescope.emulate.launching.kernel import Kernel, Place, prepare_kernel
from lanescope.emulate.launching.launch import Launch, parse_launch, parse_toml
from lanescope.emulate.machine import Finding, Schedule
from lanescope.emulate.result import EmulationResult
from lanescope.emulate.run import run_kernel
from lanescope.emulate.text.parser import parse_module
from lanescope.emulate.text.program import Module
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, quote_value, require_object, require_text

Array = NDArray[Any]
LAUNCH = """grid = [1]
block = [128]
args = ["A", 64]

[buffer.A]
shape = [64, 64]
type = "bf16"
fill = "random"
"""
ENDS = {"late": "as late as waits allow", "now": "at once"}
MOST_PTX = 4 << 20  # characters
MOST_STEPS = 1_000_000
MOST_MEMORY = 64 << 20  # bytes of all buffers
MOST_ARRAY = 1 << 20  # bytes of a buffer that an answer includes
_AROUND = 6  # lines that are shown before and after that of a finding
MOST_FILE = 16 << 20  # characters of one in base64
Arrays = Annotated[dict[str, str], Description(limits={"maxProperties": 64})]


@declare_question
class EmulateBody:
    """A kernel, its launch, and the arrays of its buffers."""

    ptx: str = raw_field("PTX", "The PTX of nvcc -ptx, NVRTC or Triton.", required=True, type=str)
    launch: Json = raw_field(
        "Launch",
        "The TOML of docs/usage.md as an object: grid, block, args, buffer, tensor_map.",
        required=True,
        type=Json,
    )
    buffers: Json = raw_field("Buffers", "The arrays of buffers by name, .npy files in base64.", {}, type=Arrays)
    compare: Json = raw_field("Compare", "What buffers should hold in the end, .npy files in base64.", {}, type=Arrays)
    block: list[int] = raw_field(
        "Block",
        "The block whose cluster runs.",
        [0, 0, 0],
        type=Annotated[list[int], Description(limits={"minItems": 3, "maxItems": 3})],
    )


def _declare_text(parse: Callable[[str], object], label: str, **more: Any) -> Any:
    """Declare a text of the form, which the page parses again; with nothing typed there is nothing to parse."""
    return parsed_field(lambda value, field: parse(value), label, "", derived=True, rows=14, **more)


@declare_question
class EmulateForm:
    """The page's form; it takes the launch as TOML, and arrays as files."""

    ptx: str = _declare_text(parse_module, "PTX", placeholder="nvcc -ptx -arch=sm_90a -lineinfo kernel.cu")
    file: bytes = raw_field("or a file", "", file=".ptx,.txt")
    launch: str = _declare_text(parse_toml, "Launch, TOML", placeholder=LAUNCH)
    arrays: bytes = raw_field("Arrays of buffers, .npy, called as in the launch", "", file=".npy")
    block: str = parsed_field(
        parse_block, "Block", "The block whose cluster runs.", derived=True, placeholder="0,0,0", size=8
    )
    copies: str = word_field(ENDS, "Copies end", "When asynchronous copies are complete.", called=ENDS)


def emulate_body(body: Json) -> Emulated:
    """Run one cluster of a kernel from its PTX: its status, errors, buffers and barriers. Steps and memory are
    bounded; `lanescope emulate` runs whole grids.
    """
    check_keys(body, options_of(EmulateBody))
    launch = parse_launch(body.get("launch"))
    module = parse_module(require_text(body.get("ptx"), "ptx", MOST_PTX))
    block = body.get("block", [0, 0, 0])
    if not isinstance(block, list):
        raise LayoutError("bad_request", f"block is {quote_value(block)}.", "Give [x, y, z].", "block")
    place = parse_block(block, "block")
    arrays, expected = (_decode_arrays(body.get(name, {}), name) for name in ("buffers", "compare"))
    kernel = prepare_bounded(module, launch, arrays)
    return build_answer(run_cluster(kernel, place, expected), MOST_ARRAY)


def _decode_arrays(value: object, field: str) -> dict[str, Array]:
    texts = require_object(value, field, "Give .npy files in base64 by name.")
    return {
        str(name): parse_npy(decode_base64(text, f"{field}.{name}", MOST_FILE), f"{field}.{name}")
        for name, text in texts.items()
    }


def prepare_bounded(module: Module, launch: Launch, arrays: Mapping[str, Array]) -> Kernel:
    """Return the kernel of a launch that a server may run. LayoutError `too_large` if it needs more memory."""
    size = 0
    for spec in launch.buffers.values():
        items = 1
        for extent in spec.shape:
            items *= extent
        size += items * spec.type.bits // 8 if spec.type and spec.shape and spec.name not in arrays else 0
    size += sum(array.nbytes for array in arrays.values())
    size += sum(variable.size for variable in module.variables.values() if variable.space in ("global", "const"))
    if size > MOST_MEMORY:
        raise LayoutError(
            "too_large",
            f"The buffers have {size:,} bytes.",
            f"At most {MOST_MEMORY:,} here. In a shell, lanescope emulate runs any launch.",
            "launch",
        )
    return prepare_kernel(module, launch, arrays)


def run_cluster(
    kernel: Kernel,
    block: Place,
    expected: Mapping[str, Array] | None = None,
    schedule: Schedule = Schedule(),
    events: bool = False,
) -> EmulationResult:
    """Run the cluster of one block."""
    return run_kernel(kernel, compare=expected, blocks=[block], schedule=schedule, most_steps=MOST_STEPS, events=events)


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of the PTX around a finding. found: the finding, None for a neighbouring line."""

    number: int
    text: str
    found: Finding | None


def mark_lines(ptx: str, findings: tuple[Finding, ...]) -> list[MarkedLine]:
    """Return the lines of a PTX text around its findings, in order; lines in between are omitted."""
    lines = ptx.splitlines()
    by_line: dict[int, Finding] = {}
    for finding in findings:
        if finding.line:
            by_line.setdefault(finding.line, finding)
    shown = {n for line in by_line for n in range(max(1, line - _AROUND), min(len(lines), line + _AROUND) + 1)}
    return [MarkedLine(number, lines[number - 1], by_line.get(number)) for number in sorted(shown)]
