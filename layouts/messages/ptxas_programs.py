"""The PTX programs of ptxas's messages."""

from __future__ import annotations

_LOADS = {
    "a": ".reg .b32 a<4>;\nld.global.v4.b32 {a0, a1, a2, a3}, [q];",
    "d": ".reg .f32 d<4>;\nld.global.v4.f32 {d0, d1, d2, d3}, [q+16];",
    "e": ".reg .f32 e<4>;\nld.global.v4.f32 {e0, e1, e2, e3}, [q+32];",
    "n": ".reg .b32 n;\nmov.u32 n, %tid.x;",
    "p": ".reg .pred p;\nsetp.eq.u32 p, n, 0;",
    "desc": ".reg .b64 desc;\nld.global.b64 desc, [q+48];",
}
_STORES = {
    "d": "st.global.v4.f32 [q+64], {d0, d1, d2, d3};",
    "e": "st.global.v4.f32 [q+80], {e0, e1, e2, e3};",
}
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned 0;"
WAIT_1 = "wgmma.wait_group.sync.aligned 1;"
OPCODE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
WGMMA_D = f"{OPCODE} {{d0, d1, d2, d3}}, desc, desc, 1, 1, 1, 0, 0;"
WGMMA_E = f"{OPCODE} {{e0, e1, e2, e3}}, desc, desc, 1, 1, 1, 0, 0;"
WGMMA_A = f"{OPCODE} {{d0, d1, d2, d3}}, {{a0, a1, a2, a3}}, desc, 1, 1, 1, 0;"


def render_module(
    *body: str,
    uses: str = "d desc",
    before: str = "",
    limits: str = "",
    target: str = "sm_90a",
    version: str = "8.0",
) -> str:
    """Render a module with one kernel.

    uses: registers that are loaded before the body, and D's that are stored after it; before: other functions; limits:
    of registers and threads.
    """
    names = uses.split()
    lines = [".reg .b64 q;", "ld.param.u64 q, [param];"]
    lines += [line for name in names for line in _LOADS[name].split("\n")]
    lines += [line for part in body for line in part.split("\n")]
    lines += [_STORES[name] for name in names if name in _STORES] + ["ret;"]
    head = [f".version {version}", f".target {target}", ".address_size 64"]
    entry = f".visible .entry kernel(.param .u64 param){f' {limits}' if limits else ''}"
    return "\n".join([*head, *([before] if before else []), entry, "{", *(f"  {line}" for line in lines), "}", ""])


def render_line(line: str, target: str, version: str = "8.8") -> str:
    """Render a module whose kernel has one instruction."""
    registers = ".reg .b32 r<16>; .reg .f32 f<16>; .reg .b64 x, y; .reg .pred p;"
    return "\n".join(
        [
            f".version {version}",
            f".target {target}",
            ".address_size 64",
            ".visible .entry kernel()",
            "{",
            f"  {registers}",
            f"  {line}",
            "  ret;",
            "}",
            "",
        ]
    )


def render_accumulators(count: int, n: int) -> str:
    """Return `count` wgmmas of one group with separate accumulators, which begin with 0 and are stored."""
    registers = n // 2
    lines = [f".reg .f32 z{i}_<{registers}>;" for i in range(count)] + [FENCE]
    for i in range(count):
        names = ", ".join(f"z{i}_{j}" for j in range(registers))
        lines.append(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{names}}}, desc, desc, 0, 1, 1, 0, 0;")
    lines += [COMMIT, WAIT]
    for i in range(count):
        for j in range(0, registers, 4):
            names = ", ".join(f"z{i}_{j + part}" for part in range(4))
            lines.append(f"st.global.v4.f32 [q+{4 * (i * registers + j)}], {{{names}}};")
    return "\n".join(lines)
