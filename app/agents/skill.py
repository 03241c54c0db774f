"""SKILL.md: which tool or command of Lanescope an agent uses when, with examples."""

from __future__ import annotations

import json

from lanescope.app.agents.excerpt import format_json
from lanescope.app.agents.tools import ROWS
from lanescope.render.tables import format_table

SUBJECT = (
    "Layouts of NVIDIA tensor cores (mma, wgmma, tcgen05, ldmatrix, TMA): which lane and register holds which element,"
    " matrix and instruction descriptors, swizzles, bank conflicts, Triton and CuTe layouts, PTX emulation."
)
DESCRIPTION = (
    f"{SUBJECT} Use it when you write, review or debug CUDA C++, PTX, CUTLASS, CuTe or Triton code that touches"
    " fragments, tiles in shared memory or descriptors."
)
RULES = (  # the server gives them to its client, too
    "Ask before you write an index formula, a descriptor constant, a swizzle or a transposition bit; do not derive it"
    " from memory.",
    "Verify every 64-bit or 32-bit word, and every source file with descriptors, before you present it.",
    "Read `assumed`: it names the defaults that an answer depends on. Pass them if the code differs.",
    "Cite `version` and `input_hash` of the call in a review.",
    "An answer is below 2 kB and names what it leaves out in `left_out`; repeat the call with `show` for that part.",
    "`unknown` and open questions are answers: report what is missing instead of guessing.",
    "64-bit words are hex strings.",
)
# The command that answers like a tool, for agents without MCP. Each is run by a test.
COMMANDS: dict[str, str] = {
    "find_instruction": "lanescope list --q 'wgmma m64n128k16 bf16'",
    "where": "lanescope show mma.m16n8k16.row.col.f32.bf16.bf16.f32 a --at 5,9",
    "verify_descriptor": "lanescope descriptor verify 0x4000004004000101 --instruction"
    " wgmma.mma_async.m64n64k16.f32.f16.f16 --storage kind=canonical,swizzle=128B,mn=64,k=64,base=4096",
    "encode_descriptor": "lanescope smem --mn 128 --k 64 --swizzle 128B --base 1024",
    "verify_source": "lanescope check src/",
    "verify_instruction_descriptor": "lanescope idesc decode 0x08400490 --kind f16",
    "bank_conflicts": "lanescope banks ldmatrix.x4 --pattern ldmatrix --row-bytes 128",
    "solve_swizzle": "lanescope banks ldmatrix.x4 --pattern ldmatrix --row-bytes 128 --solve",
    "plan_load": "lanescope chain mma.m16n8k16.row.col.f32.f16.f16.f32 a --storage kind=rows,inner=K,pitch_bytes=144",
    "convert_layouts": "lanescope convert 'gl.BlockedLayout([1,4],[8,4],[4,1],[1,0])'"
    " 'gl.BlockedLayout([4,1],[8,4],[4,1],[0,1])' --shape 32x32",
    "explain_refusal": "lanescope show mma.sync.aligned.m16n8k12.row.col.f32.f16.f16.f32",
    "explain_message": "lanescope explain \"ptxas fatal : Unknown modifier '.m64n12k16'\"",
    "emulate": "lanescope emulate kernel.ptx --launch launch.toml",
}


def render_skill() -> str:
    """Return SKILL.md."""
    rows = tuple((f"`{row.name}`", row.about) for row in ROWS)
    examples = [f"- `{row.name}`: `{format_json(row.example)}`" for row in ROWS if len(format_json(row.example)) < 400]
    commands = [(f"`{name}`", f"`{command}`") for name, command in COMMANDS.items()]
    return "\n\n".join(
        (
            f"---\nname: lanescope\ndescription: {json.dumps(DESCRIPTION)}\n---",  # quoted: it has colons
            "# Lanescope",
            "\n".join(f"- {rule}" for rule in RULES),
            "## Tools of `lanescope mcp`",
            format_table(("tool", "when, and what it answers"), rows),
            "Inputs that work as they are:",
            "\n".join(examples),
            "## Without MCP",
            "Each command takes `--json`. Exit status: 0 good, 1 a mismatch or finding, 2 refused.",
            format_table(("like", "command"), commands),
            "Any text, such as a printed word, an atom's name or a message of ptxas: `lanescope read -`.",
            "",
        )
    )
