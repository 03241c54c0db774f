"""Prints of tensor maps, PTX that is pasted, and messages of ptxas are read as what they are about."""

from __future__ import annotations

from lanescope.app.read import opcode_readings, text_meanings
from lanescope.reader.compiler_output import printed_maps
from lanescope.workbench import build_workbench
from tests.cases import for_each
from tests.client import share_client
from tests.test_recognition import list_kinds

# prints of tensor maps ------------------------------------------------------------------------------------------------

CUTLASS = """TMA Desc Addr:   0x7ffd7d2800c0
format         {type}
dim            {rank}
gmem_address   {address}
globalDim      ({k},{m},1,1,1)
globalStrides  ({bytes},{pitch},0,0,0)
boxDim         ({wide},{tall},1,1,1)
elementStrides (1,1,1,1,1)
interleave     0
swizzle        {mode}
l2Promotion    2
oobFill        0
Error: Failed to initialize the TMA descriptor 1
"""
TVM = """Error in cuTensorMapEncodeTiled: invalid argument
cu_dtype: {type}
TMA Desc Addr:   0x7ffd7d2800c0
TMA Interleave:  0
TMA L2Promotion: 2
TMA OOBFill:     0
SMEM Swizzle:    {mode}
tensor rank: {rank}
global prob shape: {k} {m}\x20
global prob stride: {pitch}\x20
smem box shape: {wide} {tall}\x20
smem box stride: 1 1\x20
"""
KITTENS = """Error in tile TMA descriptor creation: invalid argument
cuTensorMapEncodeTiled arguments:
  tma_map: 140725603369152
  tma_format: {type}
  tma_dim: {rank}
  global_addr: 140180000000000
  gmem_shape: 140725603369000 [{k}, {m}]
  gmem_stride: 140725603368960 [{pitch}]
  smem_shape: 140725603368920 [{wide}, {tall}]
  smem_stride: 140725603368900 [1, 1]
  tma_interleave: 0
  tma_swizzle: {mode}
"""
TENSORRT = """tmaFormat: {type} dim: {rank} gmem: 0x7f3a00000000
Shape: {k} {m} 0 0 0
Stride: {pitch} 0 0 0
tileShapes: {wide} {tall} 0 0 0
tileStrides: 1 1 0 0 0
swizzleType: {mode}
"""
DEEP_GEMM = (
    "Making TMA desc: global memory: {k} {m}, shared memory: {wide} {tall}, outer stride: {k}, swizzle: {width}"
    " (base: 0), elem size: {bytes}, pointer: 140180000000000"
)
GOOD = {
    **{"type": 6, "rank": 2, "address": "0x7f7e12000000", "k": 4096, "m": 2048, "bytes": 2, "pitch": 8192},
    **{"wide": 64, "tall": 128, "mode": 3, "width": 128},
}


@for_each("form", [CUTLASS, TVM, KITTENS, TENSORRT, DEEP_GEMM], ids=lambda form: form[:12])
def test_the_print_of_a_map_is_read_as_the_map(form: str) -> None:
    told = text_meanings.read_text(form.format(**GOOD))
    assert told.kind == "tensor_map" and "descriptor" not in list_kinds(told), list_kinds(told)
    assert (told.facts["box"], told.facts["swizzle"], told.facts["element_bits"]) == ([64, 128], "128B", 16)
    assert told.facts["storage"]["pitch_bytes"] == 128 and not told.notices
    (one,) = printed_maps.find_printed_maps(form.format(**GOOD))
    assert (one.dims, one.strides) == ((4096, 2048), (8192,))


@for_each("form", [CUTLASS, TVM, KITTENS, TENSORRT, DEEP_GEMM], ids=lambda form: form[:12])
@for_each(
    ("changed", "said"),
    [
        ({"tall": 512}, "boxDim[1] is 512; it must be 1 to 256."),
        ({"wide": 128}, "a swizzle of 128B allows at most 128"),
        ({"wide": 4, "mode": 0, "width": 0}, "The inner box is 8 bytes wide"),
        ({"pitch": 8200, "k": 4100}, "globalStrides[0] is 8200 bytes; it must be a multiple of 16."),
    ],
)
def test_a_print_says_which_rule_its_map_breaks(form: str, changed: dict[str, object], said: str) -> None:
    assert said in " ".join(text_meanings.read_text(form.format(**{**GOOD, **changed})).notices)


@for_each("form", [CUTLASS, TVM, TENSORRT], ids=lambda form: form[:12])
def test_a_printed_swizzle_code_that_the_driver_does_not_have_is_named(form: str) -> None:
    notices = text_meanings.read_text(form.format(**GOOD | {"mode": 9})).notices
    assert "9 is not a CUtensorMapSwizzle." in " ".join(notices)


def test_the_addresses_of_a_map_have_rules_too() -> None:
    told = text_meanings.read_text(CUTLASS.format(**{**GOOD, "address": "0x7f7e12000008"}))
    assert told.notices == ("globalAddress is 0x7f7e12000008; it must be a multiple of 16.",)


def test_where_a_print_has_the_arrays_addresses_their_values_are_open() -> None:
    text = CUTLASS.format(**GOOD).replace("(64,128,1,1,1)", "0x7f02").replace("0x7f02", "0x7ffc24e6b530")
    told = text_meanings.read_text(text)
    assert told.kind == "tensor_map" and told.facts["box"] == [None, None]
    assert "box[0]" in told.facts["undetermined"] and "descriptor" not in list_kinds(told)


def test_every_print_of_a_log_is_a_map() -> None:
    log = "\n".join(DEEP_GEMM.format(**{**GOOD, "tall": tall}) for tall in (64, 128, 512))
    told = text_meanings.read_text(f"{log}\n{TVM.format(**GOOD)}")
    maps = [one for one in (told, *told.also) if one.kind == "tensor_map"]
    assert sorted(one.facts["box"][1] for one in maps) == [64, 128, 128, 512]


def test_a_print_of_an_im2col_map_has_its_channels_for_a_box() -> None:
    text = (
        "format         6 (CU_TENSOR_MAP_DATA_TYPE_FLOAT16)\ndim            4\nglobalDim      [128, 8, 8, 1]\n"
        "smem_box_pixel 16\nsmem_box_channel {channels}\nelementStrides [1, 1, 1, 1]\n"
        "swizzle        3 (CU_TENSOR_MAP_SWIZZLE_128B)"
    )
    told = text_meanings.read_text(text.format(channels=64))
    assert (told.facts["box"], told.facts["element_bits"], told.notices) == ([64, 16], 16, ())
    assert "a swizzle of 128B allows at most 128" in text_meanings.read_text(text.format(channels=128)).notices[0]


@for_each(
    ("text", "box"),
    [
        ("boxDim = {64, 128}, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_DATA_TYPE_FLOAT16", [64, 128]),
        ("uint32_t boxDim[2] = {64, 128}, CU_TENSOR_MAP_SWIZZLE_128B, format 6", [64, 128]),
        ("boxDim{64, BM}, swizzle 3, dataType = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", [64, None]),
    ],
)
def test_enumerators_and_arrays_of_a_call_are_read_as_its_map(text: str, box: list[int | None]) -> None:
    told = text_meanings.read_text(text)
    assert (told.kind, told.facts["box"]) == ("tensor_map", box), told
    assert (told.facts["swizzle"], told.facts["element_bits"]) == ("128B", 16)


@for_each("word", ["CU_TENSOR_MAP_SWIZZLE_256B", "CU_TENSOR_MAP_DATA_TYPE_BF16"])
def test_an_enumerator_that_cuda_does_not_have_is_named(word: str) -> None:
    text = f"boxDim = {{64, 64}}, interleave 0, {word}, globalDim (4096,4096)"
    assert f"CUDA has no {word}." in " ".join(text_meanings.read_text(text).notices)


def test_a_program_that_names_such_fields_prints_no_map() -> None:
    for text in (
        "// boxDim 64 64 swizzle 3 globalDim 128 128 stride 256",
        "int box_dim = 64;\nint swizzle = 3;\nint globalDim = 64;",
    ):
        assert printed_maps.find_printed_maps(text) == ()


def test_a_printed_map_is_verified_with_the_descriptor_of_its_log() -> None:
    log = CUTLASS.format(**GOOD) + "desc_b: 0x4000004000010040\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16\n"
    assert build_workbench(log).verdict == "match"
    other = log.replace("swizzle        3", "swizzle        2").replace("(64,128", "(32,128")
    assert build_workbench(other).verdict == "mismatch"


# PTX and ptxas --------------------------------------------------------------------------------------------------------

WMMA = "wmma.load.a.sync.aligned.row.m16n16k16.f16"


@for_each(
    "before",
    [
        "// wmma.mma\n.reg .b32 %r<8>;\n",
        "// uses mma\n.reg .f32 %f<4>;\n",
        "mma\n.reg .b32 y;\n",
        "/* mma */ .reg .f32 d<4>;\n",
        "LOOP: // mma.\n.reg .f16x2 a;\n",
        ".reg .pred p; // wgmma\n.reg .b64 d;\n",
        "// wgmma.mma_async\n.shared .align 128 .b8 s[1024];\n",
        "// mma\n.visible .entry k()\n{\n",
    ],
)
def test_comments_and_directives_do_not_join_an_opcode(before: str) -> None:
    for text in (f"{before}{WMMA} {{x}}, [p], 16;", f'asm("{before}{WMMA} {{x}}, [p], 16;");'.replace("\n", "\\n")):
        told = text_meanings.read_text(text)
        assert told.kind == "instruction" and told.facts["all"] == [WMMA] and not told.notices, told


def test_a_directive_alone_is_no_wrong_instruction() -> None:
    assert text_meanings.read_text("mma .reg .f32").title == "Not recognized"


@for_each(
    ("text", "said"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k8.f16", "K is 8"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f32", "'f32' is not legal"),
        ("wmma.store.d.sync.aligned.row.m16n16k16.bf16", "'bf16' is not legal"),
        ("wmma.load.d.sync.aligned.row.m16n16k16.f16", "wmma.load.d"),
    ],
)
def test_a_wrong_instruction_keeps_its_name(text: str, said: str) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "unknown" and f"No instruction '{text}'" in told.notices[0] and said in told.notices[0]


PTXAS = "ptxas /tmp/k.ptx, line 21; error   : "


@for_each(
    ("message", "named"),
    [
        ("Unknown modifier '.m64n256k24'", "m64n256k16"),
        ("Unexpected instruction types specified for 'wgmma.mma_async'", "wgmma.mma_async"),
        ("Unexpected instruction types specified for 'wmma.load.a.sync'", "wmma.load.a"),
        ("Incorrect instruction type specified for mma with shape '.m16n8k64'", "mma"),
        ("Incorrect instruction type specified for Sparse mma", "mma.sp"),
        ("Illegal modifier '.trans' for instruction 'ldmatrix'", "ldmatrix"),
        ("Arguments mismatch for instruction 'wgmma.mma_async'", "wgmma.mma_async"),
        ("Instruction 'wgmma.mma_async with FP32 types' not supported on .target 'sm_80'", "wgmma.mma_async"),
        ("Feature 'stmatrix' requires .target sm_90 or higher", "stmatrix"),
        ("Modifier '.sync' required for instruction 'mma'", "mma"),
    ],
)
def test_a_message_of_ptxas_leads_to_the_instruction(message: str, named: str) -> None:
    told = text_meanings.read_text(PTXAS + message)
    assert told.kind == "topic" and told.link.startswith("/messages/") and told.notices
    assert f"/instructions?q={named}" in [one.link for one in told.also]
    assert share_client().get(told.link).status_code == 200


@for_each(
    ("message", "named", "said"),
    [
        (
            "Instruction 'wgmma.mma_async with floating point types' cannot be compiled for architecture 'sm_90'",
            "wgmma.mma_async",
            "compile for sm_90a.",
        ),
        (
            "Instruction 'mma with block scale' cannot be compiled for architecture 'sm_120'",
            "mma",
            "compile for sm_120a.",
        ),
        (
            "Instruction 'mma with block scale' cannot be compiled for architecture 'sm_100a'",
            "mma",
            "accepts mma with block scale for sm_120a, sm_121a, some forms for sm_120f, sm_121f.",
        ),
        (
            "Feature '.kind::f8f6f4' not supported on .target 'sm_100'",
            "kind::f8f6f4",
            "compile for sm_100a or sm_100f.",
        ),
        (
            "Feature '.kind::i8' not supported on .target 'sm_100'",
            "kind::i8",
            "accepts tcgen05.mma with .kind::i8 for sm_100a, sm_110a;",
        ),
        ("Instruction 'tcgen05.alloc' not supported on .target 'sm_100'", "tcgen05", "compile for sm_100a"),
        (
            f"Illegal vector size: 3\n{PTXAS}Arguments mismatch for instruction 'ldmatrix'",
            "ldmatrix",
            "number of registers of an operand differs from the instruction's fragment. An operand has the wrong kind",
        ),
    ],
)
def test_a_message_of_ptxas_says_the_target_or_the_operand_that_is_wrong(message: str, named: str, said: str) -> None:
    told = text_meanings.read_text(PTXAS + message)
    assert told.kind == "topic" and f"ptxas about {named}" in [one.title for one in told.also]
    assert said in " ".join(told.notices)
    assert share_client().get(told.link).status_code == 200


def test_no_target_is_told_where_the_forms_of_an_instruction_differ() -> None:
    message = "Instruction 'mma with FP8 floating point types' cannot be compiled for architecture 'sm_80'"
    assert text_meanings.read_text(PTXAS + message).also[0].notices == (
        "The target or the PTX version does not support it.",
    )


def test_a_shape_that_ptxas_does_not_know_is_told_its_neighbours() -> None:
    assert "m64n256k16, m64n256k32" in " ".join(
        text_meanings.read_text(f"{PTXAS}Unknown modifier '.m64n256k24'").notices
    )


@for_each("message", ["Unexpected instruction types specified for 'cvt'", "Unknown modifier '.mmio'"])
def test_ptxas_on_other_instructions_is_not_read(message: str) -> None:
    assert text_meanings.read_text(PTXAS + message).kind == "unknown"


# instructions beside a matrix product ---------------------------------------------------------------------------------


@for_each(
    ("text", "said"),
    [
        ("griddepcontrol.wait;", "griddepcontrol.wait waits until"),
        ('asm volatile("cp.async.commit_group;\\n" ::);', "cp.async.commit_group commits"),
        ('asm("{ .reg .pred p;\\n\\t@p cp.async.cg.shared.global [%0], [%1], 16;\\n}");', "cp.async.cg copies"),
        ("cp.async.bulk.wait_group{.read} N;", "cp.async.bulk.wait_group waits"),
        ("add.s32 %r1, %r2, %r3;", "add.s32 is an instruction of PTX"),
        ("nvvm.cp.async.commit.group", "cp.async.commit_group commits"),
        ("call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)", "cp.async.bulk.wait_group waits"),
        ("T.ptx.redux_sync.add.b32(out[0], T.uint32(1), T.uint32(0xFFFFFFFF))", "redux.sync reduces"),
        ('llvm.inline_asm "@$0 mbarrier.init.shared::cta.b64 [$1], 1;", "b,r" %p, %a', "mbarrier.init initializes"),
        ("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;", "fence.proxy.async::generic"),
        ("nvvm.tcgen05.wait <load>", "tcgen05.wait waits"),
        (
            "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ], R3 ;",
            "SYNCS.PHASECHK.TRANS64.TRYWAIT is mbarrier.try_wait: it",
        ),
        ("        /*0250*/   @!P0 LDGSTS.E.BYPASS.128 [R5+0x400], desc[UR8][R2.64] ;", "LDGSTS is cp.async: it copies"),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0", "WARPGROUP.DEPBAR is wgmma.wait_group: it waits"),
        ("UBLKCP [UR4], [UR6], UR8", "UBLKCP is cp.async.bulk: it copies"),
    ],
)
def test_ptx_without_a_matrix_says_what_it_does(text: str, said: str) -> None:
    assert text_meanings.read_text(text).notices[0].startswith(said), text_meanings.read_text(text)


@for_each(
    "text",
    ["set.add(x)", "v.max", "match.group", "ld.so", "st.session_state.x = 1", "x = a.min;", "BAR chart", "ERROR x"],
)
def test_members_of_objects_are_no_ptx(text: str) -> None:
    assert not opcode_readings.read_opcodes(text)


@for_each("text", ["a * b", "a*b", "*a", "b[i] * c"])
def test_letters_between_operators_name_no_instructions(text: str) -> None:
    told = text_meanings.read_text(text)
    assert told.title == "An expression of C++" and not told.also
