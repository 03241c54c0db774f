"""Other integers, comments, and tiles that unseen code fills are not reported."""

from __future__ import annotations

from lanescope.workbench import check
from lanescope.workbench.source.gaps import find_multiplier
from lanescope.workbench.source.guesses import evaluate_file
from lanescope.workbench.source.target_checks import make_choices
from tests import guilty_kernels
from tests.cases import for_each
from tests.checked import check_text
from tests.test_check import RIGHT, plant_mistake


def test_pitfalls_elsewhere_in_a_file_are_no_findings() -> None:
    """A 32-bit shift that no descriptor is made of stays out of the report."""
    other = "int hash(int x) { int desc_count = 1 << 40; return desc_count + x; }\n"
    assert check_text(other + RIGHT).findings == () == check_text(RIGHT).findings


def test_a_source_file_is_what_it_is() -> None:
    """Code in comments is none, and neither is what an entity of HTML would stand for."""
    wrong = plant_mistake("1ull << 62", "1 << 62")
    for mark in ("// ", "# "):
        made = check_text("".join(f"{mark}{line}\n" if line.strip() else "\n" for line in wrong.split("\n")))
        assert (made.findings, made.open, made.descriptors, made.maps) == ((), (), 0, 0), mark
    assert check_text("auto p = &lt;\n" + RIGHT).findings == ()
    assert check_text("uint64_t desc = 1ull &lt;&lt; 62;").descriptors == 0


def test_masks_of_a_source_file_are_no_descriptors() -> None:
    text = "constexpr uint64_t MASKS[2] = {0x1FFF01FF001F0001, 0x0000001F00000001};"
    assert (
        check_text(text).descriptors == 0
        and check_text(f"uint64_t desc = 0x4000004000010040;\n{text}").descriptors == 1
    )


@for_each(
    "code",
    [
        "return (uint64_t)arch << 48 | (uint64_t)m << 32 | (uint64_t)n << 16 | (uint64_t)k;",
        "return (uint64_t(z) << 48) | (uint64_t(row) << 24) | col;",
        "uint64_t c = (uint64_t)r << 56 | (uint64_t)g << 40 | (uint64_t)b << 24 | 1ull << 62;",
        "return (uint64_t)seq << 46 | (uint64_t)worker << 40 | ticket;",
    ],
)
def test_halves_and_bytes_side_by_side_are_no_descriptor(code: str) -> None:
    """A key, a plan and a colour are packed into 64 bits, too; the descriptor's own fields still make one."""
    made = check_text(f"uint64_t key(uint16_t arch, uint32_t m, uint32_t n, uint32_t k) {{ {code} }}")
    assert not made.findings and not made.descriptors
    own = "return (uint64_t)(a >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;"
    assert check_text(f"uint64_t f(uint32_t a) {{ {own} }}").descriptors == 1


def test_what_a_loop_with_an_open_end_may_fill_is_not_judged() -> None:
    """Mosaic's runtime: strides of a rank that the text leaves open. Items that no loop fills are judged."""
    text = """void make(CUtensorMap* map, void* p, int rank, int64_t* sizes) {
  cuuint64_t dims[5] = {1, 1, 1, 1, 1}, strides[5] = {1, 1, 1, 1, 1};
  cuuint32_t box[5] = {64, 64, 1, 1, 1}, ones[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < rank - 1; ++i) { cuuint64_t step = sizes[i] * 2; strides[i] = step; }
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, RANK, p, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}"""
    assert check_text(text).findings == () and check_text(text).maps == 1
    turned = text.replace("strides[i] = step", "strides[rank - 2 - i] = step; box[rank - 1 - i] = sizes[i]")
    assert check_text(turned.replace("{64, 64, 1, 1, 1}", "{0}")).findings == ()
    wider = check_text(text.replace("{64, 64, 1, 1, 1}", "{128, 64, 1, 1, 1}"))
    assert [one.code for one in wider.findings] == ["tma_inner_over_swizzle"]


@for_each(
    ("block", "codes"),
    [
        ("dummy_block", set()),
        ("[8, 512]", set()),
        ("[128, 64]", set()),
        ("[64, 4]", {"tma_inner_box"}),
    ],
)
def test_blocks_that_triton_replaces_or_cuts_are_right(block: str, codes: set[str]) -> None:
    """The launch gives a dummy block its size, and a block of more than 256 is copied in several boxes."""
    text = f"""import torch
from triton.tools.tensor_descriptor import TensorDescriptor
def launch(M, K):
    a = torch.empty((M, K), dtype=torch.float16)
    dummy_block = [1, 1]
    desc = TensorDescriptor(a, shape=[M, K], strides=[K, 1], block_shape={block})
"""
    made = check_text(text)
    assert made.maps == 1 and {one.code for one in made.findings} == codes


def test_a_helper_that_only_names_layouts_is_not_code_that_multiplies() -> None:
    """CuTe's GMMA namespace holds the layouts of operands, which copies use, too."""
    helper = "using namespace cute;\nauto layout() { return GMMA::Layout_K_SW128_Atom<half_t>{}; }\n"
    assert find_multiplier(helper) == ""
    assert find_multiplier(helper + "auto mma = GMMA::ss_op_selector<half_t, half_t, float, Tile>();\n") == "wgmma"


def test_functions_of_a_header_that_only_strings_name_are_not_the_files() -> None:
    """A mnemonic does not name a function; a string with the name of a kernel may be there to launch it."""
    header = """template <int LBO> __device__ void multiply(float* d, uint64_t a) {
  uint64_t desc = a >> 4 | (uint64_t)(LBO >> 4) << 16 | 64ull << 32 | 1ull << 62;
  asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %1, 1, 1, 1, 0, 0;" : "+f"(d[0]) : "l"(desc));
}
"""
    for code, multiplier, descriptors in (
        ('void print() { puts("multiply.async"); }', "", 0),
        ('void find(CUfunction* f, CUmodule m) { cuModuleGetFunction(f, m, "multiply"); }', "wgmma", 1),
        ('void find(nvrtcProgram p) { nvrtcAddNameExpression(p, "multiply<64, 32>"); }', "wgmma", 1),
        ("char q = '\"'; __global__ void f(float* d, uint64_t a) { multiply<16>(d, a); } char r = '\"';", "wgmma", 1),
        ("__global__ void f(float* d, uint64_t a) { multiply<16>(d, a); }", "wgmma", 1),
    ):
        made = check.check_text(header + code, headers=[(0, len(header))])
        assert (made.multiplier, made.descriptors) == (multiplier, descriptors), code


def test_an_instruction_of_an_unused_header_function_is_not_a_kernels() -> None:
    """Store::copy() is called, and the copy() of another class is not: its ldmatrix is none of the kernel."""
    header = """struct Load { static __device__ void copy(uint32_t& x, uint32_t p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(p)); } };
struct Store { static __device__ void copy(uint32_t& x, uint32_t p) {
  asm volatile("st.shared.b32 [%1], %0;" :: "r"(x), "r"(p)); } };
"""
    kernel = "__global__ void f(uint32_t x, uint32_t p) { Store::copy(x, p); }\nvoid g() { f<<<1, 32>>>(0, 0); }\n"
    for code, kernels in ((kernel, 0), (kernel.replace("Store", "Load"), 1)):
        made = check.check_text(header + code, headers=[(0, len(header))])
        assert len(made.kernels) == kernels, code


def test_a_class_of_a_header_that_a_file_does_not_use_is_not_what_it_multiplies_with() -> None:
    header = """template <cute::GMMA::Major A = cute::GMMA::Major::K> struct Selector {
  static constexpr int select() { return wgmma_shape(); } };
"""
    for code, multiplier in (("int rows = 64;\n", ""), ("int rows = Selector<>::select();\n", "wgmma")):
        made = check.check_text(
            header + code + "__global__ void copy(int* x) { *x = rows; }", headers=[(0, len(header))]
        )
        assert made.multiplier == multiplier, code


def test_a_descriptor_beside_an_unknown_one_keeps_the_operand_of_its_name() -> None:
    """The first argument of the call may be A's: the one that is known is not taken for A."""
    text = guilty_kernels.RIGHT
    start, end = text.index("    asm volatile"), text.rindex("  }\n}")
    asm = text[start:end].replace("desc_a", "a").replace("desc_b", "b")
    multiplied = text[:start] + "    mma_async(find_desc(k), desc_b, acc);\n" + text[end:]
    made = check_text(f"{multiplied}void other(float* acc, uint64_t a, uint64_t b) {{\n{asm}}}\n")
    assert not any(message.startswith("A of wgmma") for message in (one.message for one in made.open))
    assert any(message.startswith("B of wgmma") for message in (one.message for one in made.open))


def list_unused(header: str, code: str) -> list[str]:
    """Return the header functions that threads are run without."""
    text = header + code
    found = evaluate_file(text, make_choices({}, [(0, len(header))], ""))
    return [] if found is None else [text[slice(*span)].partition("(")[0] for span in found.unused]


@for_each(
    ("header", "call", "unused"),
    [
        ("void load(int x) {{ {0} }}\nvoid other(int x) {{ {0} }}\n", "load(0)", ["void other"]),
        ("#define LOAD(f) void f##_all(int x) {{ {0} }} void f(int x) {{ {0} }}\nLOAD(load)\n", "load(0)", []),
        ("#define LOAD(f, g) void f(int x) {{ {0} }} void g(int x) {{ {0} }}\nLOAD(load, other)\n", "load(0)", []),
        ("#define CALL(f) f##_all\nvoid load_all(int x) {{ {0} }}\n", "CALL(load)(0)", []),
        ("void start() {{ f<<<1, 32>>>(); {0} }}\n", "0", []),
        ("struct S {{ int operator()(int x) {{ {0} }} }};\n", "0", []),
    ],
)
def test_functions_that_macros_make_or_name_are_used(header: str, call: str, unused: list[str]) -> None:
    """So are those that launch kernels, and operators, which no word names."""
    code = f"__global__ void f() {{ {call}; }}\nvoid run() {{ f<<<1, 32>>>(); }}\n"
    assert (
        list_unused(header.format('asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];");'), code)
        == unused
    )
