"""Messages of ptxas about a matrix instruction with a wrong target, PTX version or form, one row each."""

from __future__ import annotations

from lanescope.messages.ptxas_programs import OPCODE, render_line
from lanescope.messages.row import PTXAS, MessageRow

_TARGETS = ("What each target has", "/targets")
_SYNTAX = ("How an instruction is written", "/guide/read-ptx")
_SHAPES = ("Shapes and types", "/guide/shapes")
_WGMMA = f"{OPCODE} {{f0, f1, f2, f3}}, x, y, 1, 1, 1, 0, 0;"
_TCGEN05 = "tcgen05.mma.cta_group::1.kind::f16 [r0], x, y, r1, p;"
_MMA = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f4, f5, f6, f7};"
)
_FP8 = _MMA.replace("m16n8k16", "m16n8k32").replace("f16.f16", "e4m3.e4m3")
_SUFFIX = (
    "wgmma needs sm_90a, tcgen05 sm_100a (sm_100f, sm_103a, sm_110a), mma with block scale sm_120a, setmaxnreg any of"
    " them: the letter is part of the target. sm_120a has neither wgmma nor tcgen05."
)

TARGET_ROWS = (
    MessageRow(
        slug="instruction-not-on-target",
        source=PTXAS,
        title="The target does not have this instruction",
        texts=("Instruction '{what}' not supported on .target '{target}'",),
        reason=f"The .target of the module does not have the instruction. {_SUFFIX}",
        change="Compile for the target with its letter: -arch=sm_90a, or -gencode arch=compute_90a,code=sm_90a. In"
        ' PyTorch TORCH_CUDA_ARCH_LIST="9.0a". Exclude the file from builds for other GPUs.',
        wrong=render_line(_WGMMA, "sm_90"),
        right=render_line(_WGMMA, "sm_90a"),
        links=(_TARGETS, ("wgmma to tcgen05", "/guide/wgmma-to-tcgen05")),
    ),
    MessageRow(
        slug="instruction-not-for-architecture",
        source=PTXAS,
        title="The architecture does not have this instruction",
        texts=("Instruction '{what}' cannot be compiled for architecture '{target}'",),
        reason="The module's .target supports the instruction, but the architecture that ptxas compiles for (-arch)"
        f" does not: PTX for a target with a letter runs only on that architecture. {_SUFFIX}",
        change="Pass the architecture of the .target to ptxas, or use instructions that the GPU supports.",
        wrong=render_line(_WGMMA, "sm_90a"),
        right=render_line(_WGMMA, "sm_90a"),
        architecture="sm_100a",
        links=(_TARGETS, ("wgmma to tcgen05", "/guide/wgmma-to-tcgen05")),
    ),
    MessageRow(
        slug="module-not-for-architecture",
        source=PTXAS,
        title="PTX of a target with a letter, for an architecture without it",
        texts=("PTX with .target '{target}' cannot be compiled for architecture '{architecture}'",),
        reason="The letter a or f of .target must be in the architecture, too: sm_90a cannot be compiled for sm_90.",
        change="Pass -arch=sm_90a. A fat binary needs code=sm_90a; PTX of compute_90a is of no use for later GPUs.",
        wrong=render_line(_WGMMA, "sm_90a"),
        right=render_line(_WGMMA, "sm_90a"),
        architecture="sm_90",
        links=(_TARGETS,),
    ),
    MessageRow(
        slug="feature-not-on-target",
        source=PTXAS,
        title="The target does not have this qualifier",
        texts=(
            "Feature '{what}' not supported on .target '{target}'",
            "Feature '{what}' cannot be compiled for architecture '{target}'",
        ),
        reason=f"A qualifier of the instruction, such as .kind::f16 or .block_scale, is not in the target. {_SUFFIX}",
        change="Compile for the target with its letter, or use a form of the instruction that the target supports.",
        wrong=render_line(_TCGEN05, "sm_100"),
        right=render_line(_TCGEN05, "sm_100a"),
        links=(_TARGETS,),
    ),
    MessageRow(
        slug="feature-needs-later-target",
        source=PTXAS,
        title="The instruction needs a later target",
        texts=(
            "Feature '{what}' requires .target {target} or higher",
            "Instruction '{what}' requires .target {target} or higher",
            "Modifier '{what}' requires .target {target} or higher",
        ),
        reason="The module's .target is older than the instruction, the shape or the type. Libraries raise it when a"
        " kernel is built for every GPU of a list, or when its guard on __CUDA_ARCH__ is missing.",
        change="Compile for the target that the message names or a later one, or guard the code by __CUDA_ARCH__.",
        wrong=render_line(_FP8, "sm_80"),
        right=render_line(_FP8, "sm_89"),
        links=(_TARGETS, _SHAPES),
    ),
    MessageRow(
        slug="feature-needs-later-ptx",
        source=PTXAS,
        title="The instruction needs a later version of PTX",
        texts=("Feature '{what}' requires PTX ISA .version {version} or later",),
        reason="The module's .version is older than the instruction. Generators of PTX write it: Triton and LLVM use"
        " that of the CUDA toolkit that they find, NVRTC that of its release.",
        change="Raise .version, or compile with a toolkit whose PTX is new enough: wgmma needs 8.0, tcgen05 8.6.",
        wrong=render_line(_WGMMA, "sm_90a", "7.8"),
        right=render_line(_WGMMA, "sm_90a", "8.0"),
        links=(_SHAPES,),
    ),
    MessageRow(
        slug="target-needs-later-ptx",
        source=PTXAS,
        title="This version of PTX does not know the target",
        texts=("PTX .version {version} does not support .target {target}",),
        reason="The target is newer than the module's .version.",
        change="Raise .version: sm_90a needs 8.0, sm_100a 8.6, sm_120a 8.7.",
        wrong=render_line(_TCGEN05, "sm_100a", "8.5"),
        right=render_line(_TCGEN05, "sm_100a", "8.6"),
        links=(_TARGETS,),
    ),
)
FORM_ROWS = (
    MessageRow(
        slug="vector-size",
        source=PTXAS,
        matrix_only=True,
        title="An operand has another number of registers than the fragment",
        texts=(
            "Argument vector size mismatch for instruction '{opcode}'",
            "Vector of size {count} is expected for argument {n} of instruction '{opcode}'",
            "Illegal vector size: {count}",
        ),
        reason="The braces of an operand hold more or fewer registers than the fragment of this shape and type has in"
        " one thread.",
        change="Count: m × n × bits / 32 / 32 registers for a warp's operand, / 128 threads for D of wgmma. The page of"
        " the instruction lists them.",
        wrong=render_line(_MMA.replace("{r4, r5}", "{r4}"), "sm_80"),
        right=render_line(_MMA, "sm_80"),
        links=(_SYNTAX, ("Instructions", "/instructions")),
    ),
    MessageRow(
        slug="arguments-mismatch",
        source=PTXAS,
        matrix_only=True,
        title="An operand of the wrong kind",
        texts=("Arguments mismatch for instruction '{opcode}'",),
        reason="An operand's register type differs from the instruction's, or there are too many or too few operands:"
        " a 32-bit register for the 64-bit descriptor, or transpose immediates for a type without them (wgmma has"
        " them for f16 and bf16 only).",
        change="Compare with the operands on the instruction's page. A matrix descriptor is .b64, in inline assembly"
        ' "l".',
        wrong=render_line(_WGMMA.replace("x, y", "r0, y"), "sm_90a"),
        right=render_line(_WGMMA, "sm_90a"),
        links=(_SYNTAX, ("Instructions", "/instructions?family=wgmma")),
    ),
    MessageRow(
        slug="instruction-types",
        source=PTXAS,
        matrix_only=True,
        title="No instruction has these types",
        texts=(
            "Unexpected instruction types specified for '{opcode}'",
            "Incorrect instruction type specified for {opcode}",
        ),
        reason="Each type is legal by itself, and not together with the others, or not with this shape.",
        change="A and B have the same type, unless both are integers of the same width or both are FP8, FP6 or FP4;"
        " C and D follow from them. The table of shapes and types lists the legal combinations.",
        wrong=render_line(_MMA.replace("f16.f16", "f16.bf16"), "sm_80"),
        right=render_line(_MMA, "sm_80"),
        links=(_SHAPES,),
    ),
    MessageRow(
        slug="unknown-modifier",
        source=PTXAS,
        matrix_only=True,
        title="PTX has no such modifier",
        texts=("Unknown modifier '{word}'",),
        reason="A word of the instruction is misspelled, of another opcode, or newer than this ptxas. A shape such as"
        " .m64n12k16 is such a word: N of wgmma goes in steps of 8.",
        change="Paste the complete instruction to see the nearest legal ones.",
        wrong=render_line(_WGMMA.replace("m64n8k16", "m64n12k16"), "sm_90a"),
        right=render_line(_WGMMA, "sm_90a"),
        links=(_SHAPES, _SYNTAX),
    ),
    MessageRow(
        slug="illegal-modifier",
        source=PTXAS,
        matrix_only=True,
        title="The instruction does not support this modifier",
        texts=(
            "Illegal modifier '{word}' for instruction '{opcode}'",
            "Illegal alayout '{word}' for instruction '{opcode}'",
            "Illegal blayout '{word}' for instruction '{opcode}'",
        ),
        reason="The modifier exists, but not for this opcode, shape or type: mma has .row.col in all shapes except"
        " m8n8k4 of f16.",
        change="Remove the modifier, or load the operand in the order that the instruction requires: .trans of"
        " ldmatrix exchanges rows and columns.",
        wrong=render_line(_MMA.replace("row.col", "col.row"), "sm_80"),
        right=render_line(_MMA, "sm_80"),
        links=(_SYNTAX, ("ldmatrix", "/guide/ldmatrix")),
    ),
    MessageRow(
        slug="modifier-required",
        source=PTXAS,
        matrix_only=True,
        title="A modifier is missing",
        texts=(
            "modifier required for instruction '{opcode}'",
            "Modifier '{word}' required for instruction '{opcode}'",
        ),
        reason="A word that the opcode always has is left out: .sync, .aligned, the shape, the layouts or a type.",
        change="Write the instruction as its page does, with every word and in that order.",
        wrong=render_line(_MMA.replace(".row.col", ""), "sm_80"),
        right=render_line(_MMA, "sm_80"),
        links=(_SYNTAX, ("Instructions", "/instructions")),
    ),
    MessageRow(
        slug="unknown-instruction",
        source=PTXAS,
        title="ptxas does not know this opcode",
        texts=("Not a name of any known instruction: '{opcode}'",),
        reason="The opcode is misspelled, or this ptxas is older than the instruction: wgmma came with CUDA 12.0 (PTX"
        " 8.0), tcgen05 with 12.8 (PTX 8.6).",
        change="Correct the name, or use the ptxas of a newer toolkit: Triton uses TRITON_PTXAS_PATH.",
        wrong=render_line(_MMA.replace("mma.sync", "mna.sync"), "sm_80"),
        right=render_line(_MMA, "sm_80"),
        links=(_SHAPES,),
    ),
    MessageRow(
        slug="immediate-unexpected",
        source=PTXAS,
        title="An immediate that the instruction does not support",
        texts=("Argument {n} of instruction '{what}': unexpected value '{value}', expected to be {allowed}",),
        reason="scale-a and scale-b of wgmma are 1 or -1, the transposes 0 or 1. The message counts arguments from 0.",
        change="Use a value that the message names. A factor other than -1 or 1 is applied in the epilogue.",
        wrong=render_line(_WGMMA.replace("1, 1, 1, 0, 0", "1, 2, 1, 0, 0"), "sm_90a"),
        right=render_line(_WGMMA, "sm_90a"),
        links=(("Instructions", "/instructions?family=wgmma"),),
    ),
    MessageRow(
        slug="cta-groups-mixed",
        source=PTXAS,
        title="One kernel uses cta_group::1 and cta_group::2",
        texts=(
            "Function '{function}' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that is"
            " not allowed.",
        ),
        reason="All tcgen05 instructions of a kernel have one cta_group: allocation, copies, MMA and commit.",
        change="Use the cta_group of the MMA everywhere, also in tcgen05.alloc, .dealloc and .relinquish_alloc_permit.",
        wrong=render_line(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], 32;"
            " tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [r0], 32;",
            "sm_100a",
        ),
        right=render_line("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [r0], 32;", "sm_100a"),
        release="13.5",
        links=(("Tensor memory", "/guide/tensor-memory"),),
    ),
)
