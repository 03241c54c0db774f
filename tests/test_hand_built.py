"""A wgmma kernel that is built by hand in CuTe, however it is pasted and however its tiles are spelled: each operand is
verified against where pycute says that its elements lie (tests/written_kernels.py).
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path

import pytest

from lanescope.app.read.answer import read_and_check
from lanescope.shared.storage import storage
from lanescope.workbench import Workbench, build_workbench
from tests.cases import for_each
from tests.checked import check_text
from tests.client import Client
from tests.command import run_lanescope
from tests.sample import FULL, choose_count, take_rows, take_sample
from tests.written_kernels import WAYS, OperandTile, WrittenKernel

PLAIN = WrittenKernel(OperandTile(64, 16, "none"), OperandTile(48, 16, "none"))
PASTED = {  # the ways in which a reader pastes it
    "a file": lambda kernel: kernel.whole(),
    "an article with its prose and fences": lambda kernel: kernel.article(),
    "a file without the union": lambda kernel: kernel.whole(union=False),
    "an article without the union": lambda kernel: kernel.article(union=False),
    "the blocks of the article one after the other": lambda kernel: kernel.article(fences=False),
    "the blocks without the union": lambda kernel: kernel.article(union=False, fences=False),
    "an article that begins inside a block": lambda kernel: kernel.article().partition("```cpp\n")[2],
    "an article in quotes": lambda kernel: "".join(f"> {line}\n" for line in kernel.article().splitlines()),
}
# dtype, A, B: each swizzle, both majors, both orders of atoms
TILES = [
    ("f16", OperandTile(64, 16, "none"), OperandTile(32, 32, "none", k_first=True)),
    ("bf16", OperandTile(64, 64, "128B"), OperandTile(128, 64, "64B")),
    ("f16", OperandTile(64, 16, "64B", "MN"), OperandTile(96, 16, "none", "MN")),
    ("bf16", OperandTile(64, 32, "128B", "MN", k_first=True), OperandTile(64, 32, "32B", k_first=True)),
    ("f16", OperandTile(64, 32, "32B", "MN"), OperandTile(128, 32, "128B", "MN")),
    ("e4m3", OperandTile(64, 128, "128B"), OperandTile(64, 64, "32B")),
    ("s8", OperandTile(64, 64, "64B", k_first=True), OperandTile(32, 32, "none")),
    ("tf32", OperandTile(64, 32, "128B"), OperandTile(40, 16, "64B", k_first=True)),
]
SPELLED = [
    WrittenKernel(a, b, dtype, kind, way, names=names)
    for ((dtype, a, b), kind), way, names in zip(
        product(TILES, ("flagged", "composed", "atom")),
        cycle(WAYS),
        cycle([("left", "right"), ("sA", "sB"), ("q_tile", "k_tile")]),
        strict=False,
    )
]
SPELLED += [
    WrittenKernel(replace(PLAIN.a, k=32, k_first=first), replace(PLAIN.b, k=16), "bf16", "plain", way)
    for way, first in zip(WAYS, cycle([False, True]), strict=False)
]


def list_addresses(made: Workbench, name: str, kernel: WrittenKernel) -> list[int]:
    """Where the workbench puts some elements of an operand, from the tile's start."""
    own = next(one for one in made.operands if one.name == name)
    assert own.stored is not None
    stored = storage({**own.stored, "base": 0}, kernel.bits, own.major)
    return [int(stored.address(mn, k)) for mn, k in pick_elements(getattr(kernel, name))]


def pick_elements(own: OperandTile) -> list[tuple[int, int]]:
    return [(mn, k) for mn in range(0, own.rows, 5) for k in range(0, own.k, 3)]


@for_each("kernel", take_sample(SPELLED, 10), ids=str)
def test_every_spelling_is_stored_as_pycute_says_and_read_right(kernel: WrittenKernel) -> None:
    made = build_workbench(kernel.whole())
    assert made.verdict == "match", (made.headline, made.missing)
    assert [one.name for one in made.operands] == ["a", "b"]
    for name in "ab":
        own: OperandTile = getattr(kernel, name)
        assert list_addresses(made, name, kernel) == [own.address(mn, k, kernel.bits) for mn, k in pick_elements(own)]


DOORS = ("a file", "an article in quotes")  # these two are given to the page and to `read`, too


@pytest.mark.parametrize("how", take_rows(list(PASTED), 3))
def test_every_way_of_pasting_ends_in_a_verdict(how: str, tmp_path: Path, client: Client) -> None:
    """In the answer of `read` and in `check_text`; two of them also in POST /read, on the page and in the command."""
    text = PASTED[how](PLAIN)
    if how not in DOORS:
        bench = read_and_check(text, {}).bench
        assert bench and (bench.verdict, [one.verdict for one in bench.operands]) == ("match", ["match", "match"])
    else:
        told = client.post("/api/v1/read", json={"text": text}).json()["bench"]
        assert (told["verdict"], [one["verdict"] for one in told["operands"]]) == ("match", ["match", "match"])
        page = client.post("/read", data={"text": text})
        assert "The descriptors of A and B read what is stored" in page.text
        (file := tmp_path / "kernel.cu").write_text(text)
        read = run_lanescope("read", str(file))
        assert read.returncode == 0 and read.stdout.startswith("match: ")
    if "quotes" not in how:  # a source file is what it is
        checked = check_text(text)
        assert (checked.steps, checked.findings, checked.open) == (2, (), ())


@for_each("kernel", SPELLED[:: choose_count(3, 6)], ids=str, sample=3)
@for_each("name", ["a", "b"])
def test_a_wrong_stride_of_any_spelling_is_found(kernel: WrittenKernel, name: str) -> None:
    """Each stride that the instruction reads, made twice as large: never a match."""
    text = kernel.whole()
    step = re.search(rf"m{name}\.bitfield\.stride_byte_offset_ = (\d+);", text)
    assert step is not None
    made = build_workbench(text.replace(step[0], step[0].replace(step[1], str(2 * int(step[1])))))
    wrong = next(one for one in made.operands if one.name == name)
    own: OperandTile = getattr(kernel, name)
    deep = 256 // kernel.bits > 8 if own.major == "MN" and own.swizzle != "none" else own.rows > 8
    assert wrong.verdict == ("mismatch" if deep else "match")


# what the text leaves open -------------------------------------------------------------------------------------------


def replace_text(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def format_missing(text: str) -> str:
    made = build_workbench(text)
    assert made.verdict == "unknown", made.headline
    return " ".join(made.missing)


def test_a_size_that_the_text_does_not_give_is_named() -> None:
    text = replace_text(PLAIN.whole(), "make_shape(Int<64>{}, Int<16>{})", "make_shape(Int<TileM>{}, Int<16>{})")
    assert "The layout of left, which holds A, depends on TileM" in format_missing(text)


def test_a_layout_that_a_function_without_code_makes_is_named() -> None:
    text = re.sub(r"left_where = [^;]*;", "left_where = pick_layout<T>(64, 16);", PLAIN.whole())
    assert "depends on pick_layout" in format_missing(text)


def test_a_block_that_does_not_divide_the_shape_is_refused_as_cute_does() -> None:
    text = replace_text(PLAIN.whole(), "make_shape(Int<64>{}, Int<16>{})", "make_shape(Int<64>{}, Int<20>{})")
    assert "does not divide the target shape" in format_missing(text)


def test_two_layouts_of_one_buffer_are_not_chosen_from() -> None:
    again = "  auto other = make_tensor(make_smem_ptr(left), make_layout(make_shape(64, 16)));\n  __syncthreads();"
    assert "several tensors over its buffer" in format_missing(replace_text(PLAIN.whole(), "  __syncthreads();", again))


def test_a_tensor_of_an_output_in_the_same_buffer_is_not_the_operand() -> None:
    """The names of the tensors say which is A's."""
    kernel = replace(PLAIN, names=("shared_a", "shared_b"))
    text = replace_text(kernel.whole(), "auto shared_a_view", "auto sA")
    text = replace_text(text, "shared_a_view(t, j)", "sA(t, j)")
    again = "  auto sOut = make_tensor(make_smem_ptr(shared_a), make_layout(make_shape(64, 16)));\n  __syncthreads();"
    assert build_workbench(replace_text(text, "  __syncthreads();", again)).verdict == "match"


def test_a_descriptor_that_begins_past_its_tensor_reads_the_wrong_bytes() -> None:
    text = replace_text(PLAIN.whole(), "cast_smem_ptr_to_uint(left)", "cast_smem_ptr_to_uint(left + 64)")
    (first, _) = build_workbench(text).operands
    assert first.verdict == "mismatch" and first.steps[0].read - (first.steps[0].expected or 0) == 128


def test_two_tensors_of_one_buffer_lie_where_they_begin() -> None:
    """Both tiles in one array: each descriptor has the tensor that begins where it does."""
    text = PLAIN.whole()
    text = re.sub(r"__shared__ alignas\(1024\) T left\[\d+\];", "extern __shared__ __align__(1024) T both[];", text)
    text = re.sub(r"  __shared__ alignas\(1024\) T right\[\d+\];\n", "", text)
    text = text.replace("(left)", "(both)")
    text = text.replace("make_smem_ptr(right)", "make_smem_ptr(both + 1024)").replace(
        "uint(right)", "uint(both + 1024)"
    )
    made = build_workbench(text)
    assert made.verdict == "match" and [o.stored and o.stored["base"] for o in made.operands] == [0x400, 0x400 + 2048]
    assert build_workbench(text.replace("uint(both + 1024)", "uint(both + 512)")).verdict == "mismatch"


def test_a_pointer_that_counts_other_elements_is_not_taken_for_the_instructions() -> None:
    text = replace_text(PLAIN.whole(), "make_smem_ptr(left)", "make_smem_ptr(reinterpret_cast<float*>(left))")
    assert "its pointer counts 32 bits, the instruction reads elements of 16" in format_missing(text)


def test_tiles_that_are_filled_by_hand_have_the_layout_of_their_name() -> None:
    """No make_tensor: smem[layout(i, j)] = x, with layouts called after the operands."""
    text = PLAIN.whole()
    for name, letter in (("left", "A"), ("right", "B")):
        text = re.sub(rf"  auto {name}_view = [^;]*;\n", "", text)
        text = text.replace(f"{name}_view(t, j) = 0", f"{name}[Smem{letter}{{}}(t, j)] = 0")
        own = PLAIN.a if letter == "A" else PLAIN.b
        shape, stride = own.tuples(16)
        text = f"using Smem{letter} = Layout<{shape}, {stride}>;\n{text}"
        text = re.sub(rf"  auto {name}_where = [^;]*;\n", "", text)
    assert build_workbench(text).verdict == "match"
    assert build_workbench(text.replace("stride_byte_offset_ = 8", "stride_byte_offset_ = 16")).verdict == "mismatch"


# the transpose immediates, the union, the exit status ----------------------------------------------------------------


ADDRESSED = """// A: Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)
for (int k = 0; k < 4; ++k) {
  uint64_t desc_a = (((uint64_t)__cvta_generic_to_shared(sA + 16 * k) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32
    | 1ull << 62;
  wgmma_rs_m64n64k16_f32_f16_f16(acc, desc_a);
}
"""


def test_an_address_without_a_promised_alignment_is_said() -> None:
    """A word is right at a multiple of 16 bytes alone: what the text does not promise is listed and told."""
    text = "extern __shared__ half sA[];\n" + ADDRESSED
    told, promised = (
        read_and_check(text, {}),
        read_and_check(text.replace("__shared__", "__shared__ __align__(1024)"), {}),
    )
    assert told.bench and told.bench.verdict == "match" and promised.bench and promised.bench.verdict == "match"
    assert told.assumed and "at.sA" in told.assumed and "Taken 1024-byte aligned: sA." in told.bench.detail
    assert "at.sA" not in (promised.assumed or {}) and "Taken" not in promised.bench.detail


def test_a_type_that_the_text_defines_is_its_own() -> None:
    """Other widths under CUTLASS's names: SBO is 13 bits wide and LBO begins a bit later."""
    union = "union Matrix64 { uint64_t raw; struct { uint64_t start_address_ : 14, : 3, leading_byte_offset_ : 14, : 1,"
    union += " stride_byte_offset_ : 14, : 16, layout_type_ : 2; uint64_t base_offset_; } bitfield; };\n"
    made = build_workbench(union + PLAIN.whole(union=False))
    assert made.verdict != "match" and not any(one.key.startswith("type.") for one in made.assumed)


# layouts that the evaluation alone knows -----------------------------------------------------------------------------

HEADER = "using namespace cute;\n"
ARGUMENTS = """
template <class T, class LayoutOfX, class LayoutOfY>
__global__ void kernel(T* x, T* y) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sX = make_tensor(make_smem_ptr(s.first.begin()), LayoutOfX{});
  Tensor sY = cute::make_tensor(cute::make_smem_ptr<T>(s.second.begin()), LayoutOfY{});
  for (int step = 0; step < 4; ++step) {
    uint64_t first = cast_smem_ptr_to_uint(s.first.begin()) + step * 32;
    uint64_t second = cast_smem_ptr_to_uint(s.second.begin()) + step * 32;
    uint64_t a = (first & 0x3FFFF) >> 4 | SBO_A << 32 | 1ull << 62;
    uint64_t b = (second & 0x3FFFF) >> 4 | 64ull << 32 | 1ull << 62;
    asm volatile("wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
                 : "+f"(acc) : "l"(a), "l"(b));
  }
}
void launch() {
  auto deep = Int<64>{};
  auto of_x = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(Int<64>{}, deep));
  auto of_y = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(Int<96>{}, deep));
  kernel<half_t, decltype(of_x), decltype(of_y)><<<1, 128>>>(x, y);
}
"""


def test_layouts_may_come_as_template_arguments() -> None:
    text = HEADER + ARGUMENTS
    made = build_workbench(text.replace("SBO_A", "64ull"))
    assert made.verdict == "match" and [len(one.steps) for one in made.operands] == [4, 4]
    wrong = build_workbench(text.replace("SBO_A", "32ull"))
    assert [one.verdict for one in wrong.operands] == ["mismatch", "match"]


def test_each_kernel_of_a_file_has_its_own_tensors() -> None:
    """Two kernels with buffers of the same names and tiles of other sizes."""
    first = PLAIN.whole()
    second = WrittenKernel(OperandTile(64, 32, "none"), OperandTile(64, 32, "none", k_first=True)).whole(union=False)
    second = second.replace("void multiply(", "void again(").replace("using T = cute::half_t;\n", "")
    made = build_workbench(first + second)
    assert made.verdict == "match" and len(made.operands) == 4
    wrong = build_workbench(first + second.replace("stride_byte_offset_ = 8", "stride_byte_offset_ = 16"))
    assert [one.verdict for one in wrong.operands].count("mismatch") == 1


def test_an_epilogue_that_writes_over_a_tile_says_nothing_of_it() -> None:
    """sC over A's buffer: A is stored as its tensor map says, or nobody says how."""
    text = re.sub(r"  auto left_view = ([^;]*);", r"  Tensor sC = \1;", PLAIN.whole()).replace(
        "left_view(t, j)", "sC(t, j)"
    )
    assert "does not say how A is stored" in format_missing(text)


@pytest.mark.parametrize("how", PASTED if FULL else DOORS)
def test_exchanged_strides_are_named_at_their_line(how: str, tmp_path: Path, client: Client) -> None:
    text = PASTED[how](replace(PLAIN, exchanged="a"))
    line = 1 + next(n for n, said in enumerate(text.splitlines()) if "ma.bitfield.stride_byte_offset_ =" in said)
    told = client.post("/api/v1/read", json={"text": text}).json()["bench"]
    a, b = told["operands"]
    assert (told["verdict"], a["verdict"], b["verdict"]) == ("mismatch", "mismatch", "match")
    assert a["steps"][0]["diagnoses"][0]["code"] == "lbo_sbo_swapped" and (a["line"], b["line"]) == (line, None)
    if how in DOORS:
        page = client.post("/read", data={"text": text})
        assert "LBO and SBO are exchanged" in re.sub(r"<[^>]*>", "", page.text)
        (file := tmp_path / "kernel.cu").write_text(text)
        read = run_lanescope("read", str(file))
        assert read.returncode == 1 and f"line {line}: lbo_sbo_swapped" in read.stdout
    if "quotes" not in how:
        (finding,) = check_text(text).findings
        assert finding.code == "lbo_sbo_swapped" and text.count("\n", 0, finding.span[0]) + 1 == line
