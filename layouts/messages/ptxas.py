"""Messages of ptxas about wgmma's order and registers, and about setmaxnreg, one row each.

Texts and numbers are those of ptxas 12.9 and 13.5. Numbers may change with the release: search by the text. The tests
assemble every program and compare ptxas's output.
"""

from __future__ import annotations

from lanescope.messages import ptxas_programs as ptx
from lanescope.messages.row import PTXAS, RELEASES, MessageRow

_SERIALIZED = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
_STAGE = "between start and end of the pipeline stage in the function '{function}'"
_ORDER = ("The order of instructions around a wgmma", "/guide/fence-commit-wait")
_WAITING = ("wgmma.wait_group", "/guide/wgmma.wait_group")
_FENCING = ("wgmma.fence", "/guide/wgmma.fence")
_SERIAL = " The result is correct, but the wgmmas run sequentially, each followed by a wait."
_CALLEE = ".extern .func other;"
_PRINT = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);"
_CALL_PRINT = (
    "{\n.param .b64 f; .param .b64 v; .param .b32 r;\nst.param.b64 [f], q; st.param.b64 [v], q;\n"
    "call (r), vprintf, (f, v);\n}"
)
_INLINED = ".func other(.param .b64 a)\n{\n  .reg .b64 q;\n  ld.param.b64 q, [a];\n  st.global.b64 [q], q;\n  ret;\n}"
_CALL_INLINED = "{\n.param .b64 a;\nst.param.b64 [a], q;\ncall other, (a);\n}"
_DEC = "setmaxnreg.dec.sync.aligned.u32 24;"
_LIMITS = ".maxntid 384 .minnctapersm 1"
_CALL_POINTER = ".reg .b64 f;\nld.global.b64 f, [q];\nshape: .callprototype _ ();\ncall f, (), shape;"


def _number(code: str, releases: tuple[str, ...] = RELEASES) -> tuple[tuple[str, str], ...]:
    return tuple((release, code) for release in releases)


ORDER_ROWS = (
    MessageRow(
        slug="wgmma-extern-calls",
        source=PTXAS,
        title="wgmma is serialized: the function calls an extern function",
        texts=(f"{_SERIALIZED}the presence of Extern calls in the function '{{function}}'",),
        codes=_number("C7509"),
        reason="The kernel calls a function that ptxas cannot see, so it does not know which registers the callee"
        f" accesses while a wgmma runs.{_SERIAL}",
        change="Define the function in the same module, or link with -dlto, so that it is inlined. Moving the call"
        " after wgmma.wait_group 0 does not help.",
        wrong=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, "call other;", ptx.WAIT, before=_CALLEE),
        right=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT),
        options=("-c",),
        links=(_ORDER,),
    ),
    MessageRow(
        slug="wgmma-function-boundary",
        source=PTXAS,
        title="wgmma is serialized: a call that is not inlined",
        texts=(
            f"{_SERIALIZED}wgmma pipeline crossing function boundary at a function call in the function '{{function}}'",
        ),
        codes=_number("C7510"),
        reason="A kernel with wgmma calls a function that is not inlined. ptxas reports this for any call, even"
        f" after wgmma.wait_group 0. printf and assert are such calls.{_SERIAL}",
        change="Inline the function: __forceinline__, also for lambdas and templates of the loop. Take printf and"
        " assert out of the kernel; a condition with trap is not a call.",
        wrong=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, _CALL_PRINT, before=_PRINT),
        right=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, _CALL_INLINED, before=_INLINED),
        links=(_ORDER,),
    ),
    MessageRow(
        slug="wgmma-pipeline-registers",
        source=PTXAS,
        title="wgmma is serialized: too few registers for the pipeline",
        texts=(f"{_SERIALIZED}insufficient register resources for the wgmma pipeline in the function '{{function}}'",),
        codes=_number("C7511"),
        reason="The accumulators and A fragments that are in flight together need more registers than a thread has: at"
        " most 255, fewer with __launch_bounds__, .maxnreg or -maxrregcount. m64nNk16 with an f32 accumulator needs"
        f" N/2 registers. -O0 and -G cause it for any wgmma.{_SERIAL}",
        change="Have fewer accumulators in flight: a smaller N, or two warpgroups that share the tile. Raise the limit"
        " (__launch_bounds__, setmaxnreg of a warp-specialized kernel), and compile with optimization.",
        wrong=ptx.render_module(ptx.render_accumulators(2, 256), uses="desc"),
        right=ptx.render_module(ptx.render_accumulators(1, 256), uses="desc"),
        release="13.5",
        links=(("Registers of a wgmma", "/i/wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"), _ORDER),
    ),
    MessageRow(
        slug="wgmma-function-registers",
        source=PTXAS,
        title="wgmma is serialized: too few registers for the function",
        texts=(f"{_SERIALIZED}insufficient register resources for the function '{{function}}'",),
        codes=_number("C7512"),
        reason="As C7511, for the whole function: it needs more registers than it may have, so that the wgmmas cannot"
        f" stay in flight.{_SERIAL} No program of this project raises it.",
        change="Use fewer registers in the function: smaller accumulators, fewer values that live across the loop, or a"
        " higher limit.",
        links=(_ORDER,),
    ),
    MessageRow(
        slug="wgmma-input-registers",
        source=PTXAS,
        title="wgmma is serialized: registers of A are written too early",
        texts=(f"{_SERIALIZED}non wgmma instructions defining input registers of a wgmma {_STAGE}",),
        codes=_number("C7513"),
        reason="A comes from registers, and an instruction writes them between the wgmma and its wgmma.wait_group,"
        f" while the tensor core may still read them.{_SERIAL}",
        change="Wait for the wgmma (wgmma.wait_group 0) before A's registers are written, or convert the next A"
        " fragment into other registers; then wgmma.fence before the wgmma that reads them.",
        wrong=ptx.render_module(
            *(ptx.FENCE, ptx.WGMMA_A, ptx.COMMIT, "mov.b32 a0, n;", ptx.WAIT),
            *(ptx.FENCE, ptx.WGMMA_A, ptx.COMMIT, ptx.WAIT),
            uses="a d desc n",
        ),
        right=ptx.render_module(
            *(ptx.FENCE, ptx.WGMMA_A, ptx.COMMIT, ptx.WAIT, "mov.b32 a0, n;"),
            *(ptx.FENCE, ptx.WGMMA_A, ptx.COMMIT, ptx.WAIT),
            uses="a d desc n",
        ),
        release="13.5",
        links=(_WAITING, _FENCING, ("D becomes the next A", "/reuse")),
    ),
    MessageRow(
        slug="wgmma-accumulator-read",
        source=PTXAS,
        title="wgmma is serialized: an accumulator is read too early",
        texts=(f"{_SERIALIZED}non wgmma instructions reading accumulator registers of a wgmma {_STAGE}",),
        codes=_number("C7514"),
        reason="An instruction reads D while the wgmma that writes it may still run: the wait before it leaves that"
        f" group pending.{_SERIAL}",
        change="Wait far enough: wgmma.wait_group N leaves the N newest groups pending, so that D of the newest needs"
        " N = 0. In a loop, read the accumulator of the group before last, or after the loop.",
        wrong=ptx.render_module(
            *(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WGMMA_E, ptx.COMMIT, ptx.WAIT_1),
            *("add.f32 e0, e0, e0;", ptx.WAIT),
            uses="d e desc",
        ),
        right=ptx.render_module(
            *(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WGMMA_E, ptx.COMMIT, ptx.WAIT_1),
            *("add.f32 d0, d0, d0;", ptx.WAIT),
            uses="d e desc",
        ),
        links=(_WAITING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-accumulator-written",
        source=PTXAS,
        title="wgmma is serialized: an accumulator is written between wgmma and wait_group",
        texts=(f"{_SERIALIZED}non wgmma instructions defining accumulator registers of a wgmma {_STAGE}",),
        codes=_number("C7515"),
        reason="An instruction other than wgmma writes registers of D between the wgmma and its wgmma.wait_group:"
        " zeros for the next tile, a scaled sum, or a copy that the compiler made because the accumulator is no longer"
        f" one array with constant indices.{_SERIAL}",
        change="Write D after wgmma.wait_group 0 and before the next wgmma.fence. Start a tile with scale-d = 0"
        " (ScaleOut::Zero) and not by writing zeros. Keep the accumulator in one array, indexed by constants, in an"
        " unrolled loop.",
        wrong=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, "mov.f32 d0, 0f00000000;", ptx.WAIT),
        right=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, "mov.f32 d0, 0f00000000;"),
        links=(_WAITING, _FENCING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-ill-formed",
        source=PTXAS,
        title="wgmma is serialized: ill formed pipeline stage",
        texts=(f"{_SERIALIZED}ill formed pipeline stage in the function '{{function}}'",),
        codes=_number("C7516"),
        reason="ptxas cannot match the wgmma.fence, the wgmmas, the wgmma.commit_group and the wgmma.wait_group of a"
        f" stage on every path through the function.{_SERIAL} No program of this project raises it.",
        change="Run fence, wgmma, commit_group and wait_group in this order on every path, without branches around"
        " single instructions or exits between them.",
        links=(_ORDER,),
    ),
    MessageRow(
        slug="wgmma-wait-injected",
        source=PTXAS,
        title="ptxas inserts a wait for a wgmma",
        texts=(
            "wgmma.wait_group is injected in around line {line} by compiler to allow use of registers defined by GMMA"
            " in function '{function}'",
            "warpgroup.wait is injected in around line {line} by compiler to allow use of registers defined by GMMA in"
            " function '{function}'",
        ),
        codes=_number("C7517"),
        reason="The accumulator is used, or the kernel ends, before a wgmma.wait_group that covers the wgmma; ptxas"
        " inserts one there. The result is correct, but the wait is earlier than in the source.",
        change="Put wgmma.wait_group before the first use of D, with N so small that the group of D is complete. After"
        " the last loop iteration, wgmma.wait_group 0.",
        wrong=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, "add.f32 d0, d0, d0;", ptx.WAIT),
        right=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, "add.f32 d0, d0, d0;"),
        links=(_WAITING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-wait-divergent",
        source=PTXAS,
        title="wgmma is serialized: it needs a wait in a divergent path",
        texts=(
            f"{_SERIALIZED}program dependence on compiler-inserted WG.DP in divergent path in the function"
            " '{function}'",
        ),
        codes=_number("C7518"),
        reason="ptxas would have to insert a wait (WG.DP, the machine's wgmma.wait_group) in a branch that not all"
        f" threads of the warpgroup take, where a wait is not allowed.{_SERIAL}",
        change="Run wgmma, commit_group and wait_group outside of conditions that depend on the thread. Choose by the"
        " warpgroup, with a condition that the compiler can see to be uniform: __shfl_sync(…, threadIdx.x / 128, 0).",
        wrong=ptx.render_module(
            *("@p bra skip;", ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, "skip:", "add.f32 d0, d0, d0;"), uses="d desc n p"
        ),
        right=ptx.render_module(
            *("@p bra skip;", ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, "skip:", "add.f32 d0, d0, d0;"),
            uses="d desc n p",
        ),
        links=(_WAITING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-fence-divergent",
        source=PTXAS,
        title="wgmma is serialized: it needs a fence in a divergent path",
        texts=(
            f"{_SERIALIZED}program dependence on compiler-inserted WG.AR in divergent path in the function"
            " '{function}'",
        ),
        codes=(("12.9", "C7520"), ("13.5", "C7519")),
        reason="A wgmma runs in a branch that depends on the thread, and the wgmma.fence that orders its registers"
        f" (WG.AR in machine code) is outside of it, so that ptxas would have to insert one in the branch.{_SERIAL}",
        change="Put wgmma.fence on the same path as the wgmmas it belongs to, and make the condition uniform for the"
        " warpgroup.",
        wrong=ptx.render_module(
            *(ptx.FENCE, "@p bra other;", ptx.WGMMA_D, ptx.COMMIT, "bra end;"),
            *("other:", ptx.WGMMA_E, ptx.COMMIT, "end:", ptx.WAIT),
            uses="d e desc n p",
        ),
        right=ptx.render_module(
            *("@p bra other;", ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, "bra end;"),
            *("other:", ptx.FENCE, ptx.WGMMA_E, ptx.COMMIT, ptx.WAIT, "end:"),
            uses="d e desc n p",
        ),
        links=(_FENCING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-fence-injected",
        source=PTXAS,
        title="ptxas inserts a fence before a wgmma",
        texts=(
            "warpgroup.arrive is injected in around line {line} by compiler to allow use of registers in GMMA in"
            " function '{function}'",
        ),
        codes=_number("C7519", ("12.9",)),
        reason="Registers of a wgmma, D or A, are written before it without a wgmma.fence in between. ptxas 12.9"
        " inserts one and reports it. ptxas 13.5 assembles the same program without a message.",
        change="Put wgmma.fence (warpgroup_arrive in CUTLASS) after the last write to the registers and before the"
        " first wgmma that uses them.",
        wrong=ptx.render_module(ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT),
        right=ptx.render_module(ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT),
        release="12.9",
        links=(_FENCING, _ORDER),
    ),
    MessageRow(
        slug="wgmma-live-ranges",
        source=PTXAS,
        title="Too many wgmma operands are live",
        texts=("GMMA sequence has too many active live ranges ({count}), reduce it to bring it under ({most})",),
        reason="A sequence of wgmmas keeps more values alive than the register allocator can hold. The text is in ptxas"
        " 12.9 and 13.5; no program of this project raises it.",
        change="Have fewer accumulators and A fragments in flight at once, as for C7511.",
        links=(_ORDER,),
    ),
    MessageRow(
        slug="wgmma-too-few-registers",
        source=PTXAS,
        title="A wgmma that does not fit into the registers of a thread",
        texts=(
            "Insufficient registers ({have}) to compile instruction at line {line} in function {function}. Try to"
            " compile with register target of {need} or higher.",
        ),
        codes=_number("C7602"),
        reason="A single instruction needs more registers than the kernel's limit: m64n256k16 with an f32"
        " accumulator has 128 in D. The limit comes from .maxnreg, -maxrregcount, or from __launch_bounds__: 65,536"
        " registers for all threads of the block.",
        change="Raise the limit to the number in the message, launch fewer threads, or use a smaller N.",
        wrong=ptx.render_module(ptx.render_accumulators(1, 256), uses="desc", limits=".maxnreg 64"),
        right=ptx.render_module(ptx.render_accumulators(1, 256), uses="desc", limits=".maxnreg 168"),
        links=(("Registers of a wgmma", "/i/wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"),),
    ),
)
_IGNORED = "Potential Performance Loss: 'setmaxnreg' ignored"
_KEPT = " All warps keep the registers that they were launched with."
REGISTER_ROWS = (
    MessageRow(
        slug="setmaxnreg-compilation-units",
        source=PTXAS,
        title="setmaxnreg is ignored: separate compilation",
        texts=(f"{_IGNORED} to maintain compatibility across compilation units.",),
        codes=_number("C7504"),
        reason=f"The module is compiled to be linked (nvcc -rdc=true, ptxas -c).{_KEPT}",
        change="Compile without relocatable device code (-rdc=false), or link with -dlto.",
        wrong=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
        right=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
        options=("-c",),
        right_options=(),
    ),
    MessageRow(
        slug="setmaxnreg-debug",
        source=PTXAS,
        title="setmaxnreg is ignored: compiled for the debugger",
        texts=(f"{_IGNORED} to allow debugging.",),
        codes=_number("C7505"),
        reason=f"The module is compiled with -G (ptxas -g).{_KEPT}",
        change="Compile without -G; -lineinfo keeps source lines.",
        wrong=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
        right=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
        options=("-g",),
        right_options=(),
    ),
    MessageRow(
        slug="setmaxnreg-extern-call",
        source=PTXAS,
        title="setmaxnreg is ignored: a call that ptxas does not see through",
        texts=(f"{_IGNORED} to maintain compatibility into 'extern' call.",),
        codes=_number("C7506"),
        reason=f"The kernel calls a function by its address, or one of another module.{_KEPT}",
        change="Call functions by name and let them be inlined; no function pointers and no virtual functions in a"
        " kernel with setmaxnreg.",
        wrong=ptx.render_module(_DEC, _CALL_POINTER, uses="d", limits=_LIMITS),
        right=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
    ),
    MessageRow(
        slug="setmaxnreg-minimum",
        source=PTXAS,
        title="setmaxnreg is ignored: the code needs more registers",
        texts=(f"{_IGNORED} to maintain minimum register requirements.",),
        codes=_number("C7507"),
        reason="The code after setmaxnreg.dec needs more registers than it leaves: a wgmma in a warp that gave its"
        f" registers away, or a branch that ptxas cannot separate from the consumers'.{_KEPT}",
        change="Give the producer no wgmma and few live values, keep the two roles in separate branches, or raise the"
        " number of setmaxnreg.dec (24, 40, 56).",
        wrong=ptx.render_module(_DEC, ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, limits=_LIMITS),
        right=ptx.render_module(
            "setmaxnreg.dec.sync.aligned.u32 40;", ptx.FENCE, ptx.WGMMA_D, ptx.COMMIT, ptx.WAIT, limits=_LIMITS
        ),
    ),
    MessageRow(
        slug="setmaxnreg-unknown-count",
        source=PTXAS,
        title="setmaxnreg is ignored: the register count at entry is not fixed",
        texts=(f"{_IGNORED}; unable to determine register count at entry.",),
        codes=_number("C7508"),
        reason="Nothing fixes how many registers the kernel is launched with: no __launch_bounds__ with a minimum of"
        f" blocks, no .maxnreg and no -maxrregcount.{_KEPT}",
        change="Declare __launch_bounds__(threads, 1): the second number is needed.",
        wrong=ptx.render_module(_DEC, uses="d", limits=".maxntid 384"),
        right=ptx.render_module(_DEC, uses="d", limits=_LIMITS),
    ),
    MessageRow(
        slug="setmaxnreg-dec-too-large",
        source=PTXAS,
        title="setmaxnreg.dec to more registers than the kernel has",
        texts=(
            "setmaxnreg.dec has register count ({count}) which is larger than the largest temporal register count in"
            " the program ({most})",
        ),
        codes=_number("C7406", ("13.5",)),
        reason="setmaxnreg.dec releases registers, but its count is larger than that of the launch.",
        change="Use a smaller number with dec, or inc where the warp shall get more.",
        wrong=ptx.render_module("setmaxnreg.dec.sync.aligned.u32 232;", uses="d", limits=_LIMITS),
        right=ptx.render_module("setmaxnreg.dec.sync.aligned.u32 40;", uses="d", limits=_LIMITS),
        release="13.5",
    ),
    MessageRow(
        slug="immediate-not-a-multiple",
        source=PTXAS,
        title="An immediate that is not a multiple of 8",
        texts=(
            "Argument {n} of instruction '{opcode}': unexpected value '{value}', expected to be multiple of {unit}",
        ),
        reason="setmaxnreg needs a register count that is a multiple of 8, from 24 to 256.",
        change="Round the number: 24, 40, 232, 240. The sum over all warps of the block is at most the 65,536"
        " registers of the SM.",
        wrong=ptx.render_module("setmaxnreg.inc.sync.aligned.u32 233;", uses="d", limits=_LIMITS),
        right=ptx.render_module("setmaxnreg.inc.sync.aligned.u32 240;", uses="d", limits=_LIMITS),
    ),
    MessageRow(
        slug="immediate-out-of-range",
        source=PTXAS,
        title="An immediate that is out of range",
        texts=(
            "Argument {n} of instruction '{opcode}': value '{value}' out of range, expected to be in range"
            " [{least}..{most}]",
        ),
        reason="A constant operand of the instruction is out of range: setmaxnreg allows 24 to 256.",
        change="Use a value of the range that the message names.",
        wrong=ptx.render_module("setmaxnreg.inc.sync.aligned.u32 264;", uses="d", limits=_LIMITS),
        right=ptx.render_module("setmaxnreg.inc.sync.aligned.u32 240;", uses="d", limits=_LIMITS),
    ),
)
