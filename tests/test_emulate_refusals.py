"""Operands that an instruction does not take are refused with a reason; a fault of the emulator is raised."""

from __future__ import annotations

from tests.cases import for_each
from tests.emulated_kernels import run_text

KERNEL = (
    ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<8>; .reg .b64 %d<4>;"
    " .reg .pred %p<4>;\n{statement}\nret;\n}}\n"
)


@for_each(
    ("statement", "reason"),
    [
        ("add.s32 %r0, %r1;", "operands"),
        ("add.s32 %r0, %r1, [%d0];", "[%d0] is not a value"),
        ("add.s32 3, %r1, %r2;", "3 is not a register"),
        ("add.s32 %p0, %r1, %r2;", "is a predicate"),
        ("mov.b32 %r0, {%r1, %r2, %r3};", "3 parts of 32 bits"),
        ("ld.global.u32 %r0, %d0;", "is not an address"),
        ("st.shared.u32 %r0, %r1;", "is not an address"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, %r1;", "is not an address"),
        ("tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%d0, {%r0}];", "tex.1d.v4.s32.s32 is not emulated"),
        ("ad.s32 %r0, %r1, %r2;", "PTX has no instruction ad.s32. Nearest: "),
        (
            "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0, %r1, %r2}, [%r3];",
            "Nearest: ldmatrix.sync.aligned.m8n8.x",
        ),
        ("atom.global.add.u32 %r0, [%d0];", "is not emulated"),
        ("cp.async.ca.shared.global [%r0], [%d0];", "an operand is missing"),
        ("bar.red.popc.u32 %r0, 0;", "operands"),
        ("min.s32 %r0, %r1, %r2, %r3;", "operands"),
        ("mov.u32 %r0, nothing;", "is not declared"),
        ("mov.b64 {%r0, %r1}, {%r0, %r1, %r2};", "different lengths"),
    ],
)
def test_other_operands_are_refused_with_the_reason(statement: str, reason: str) -> None:
    machine = run_text(KERNEL.format(statement=statement), [])
    assert machine.status == "unknown_instruction"
    (finding,) = machine.findings
    assert reason in finding.message, finding.message
