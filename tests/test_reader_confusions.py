"""Texts that are none of the reader's kinds must not become one, and no text makes it crash or go round for ever."""

from __future__ import annotations

import random
import re
import string

from lanescope import reader
from lanescope.app.read import text_meanings
from lanescope.errors import LayoutError
from lanescope.workbench import build_workbench
from tests import reader_corpus
from tests.cases import for_each
from tests.sample import choose_count, take_sample

# What people paste by mistake, and what else of a machine's output looks like a word, a layout or code: the table of
# confusions. Each is unknown, or a page.
NOTHING = {
    "prose": "The quick brown fox jumps over the lazy dog.",
    "prose of the field": "Every request is answered within a few milliseconds on this machine.",
    "JSON": '{"name": "x", "size": [1, 2, 3], "desc": "a tile"}',
    "JSON of halves": '{"lo": 1, "hi": 2}',
    "a commit": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "a short commit": "9fceb02",
    "a commit of 16 digits": "9fceb02d0ae598e9",
    "SHA-256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "MD5": "d41d8cd98f00b204e9800998ecf8427e",
    "a UUID": "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "a colour": "#1f77b4",
    "colours": "#ff0000, #00ff00, #0000ff",
    "a time of day": "12:30:45",
    "a date": "2026-11-22",
    "IPv4": "192.168.0.1:8080",
    "IPv6": "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "a MAC address": "00:1A:2B:3C:4D:5E",
    "a mail address": "someone@example.org",
    "C": 'int main(void) { for (int i = 0; i < 10; ++i) printf("%d", i); return 0; }',
    "a shift in C": "size_t n = 4; return n << 2;",
    "packing in C": "return (uint64_t)hi << 24 | lo;",
    "a hash in C": "uint64_t hash = 14695981039346656037ull; hash ^= c; hash *= 1099511628211ull;",
    "random numbers in C": "x ^= x << 13; x ^= x >> 7; x ^= x << 17; return x;",
    "flags in C": "flags |= 1 << 3; flags |= 1 << 5; return flags;",
    "colours in C": "uint32_t c = (r << 16) | (g << 8) | b;",
    "C++": "std::vector<int> v = {1, 2, 3}; std::map<std::string, int> m;",
    "a template": "template <int N> struct A { static constexpr int value = N * 2; };",
    "Python": "def f(x):\n    return x + 1\n",
    "NumPy": "x = np.zeros((4, 8), dtype=np.float16)",
    "Rust": 'fn main() { let x: u64 = 1 << 40; println!("{}", x); }',
    "Go": "package main\nfunc main() { x := uint64(1) << 40 }",
    "a stack trace": 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: bad shape (8, 64)',
    "a crash": "==123== Invalid read of size 4\n==123==    at 0x4005C4: main (a.c:5)",
    "FFMA": "/*0090*/ FFMA R4, R8, R10, R4 ;  /* 0x0000000a08047223 */",
    "LDG": "LDG.E.128.CONSTANT R4, [R2.64] ;",
    "STS": "STS.128 [R2+0x400], R4 ;",
    "LDS": "LDS.U.128 R4, [R2] ;",
    "ld.global": "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];",
    "cvta": "cvta.to.shared.u64 %rd1, %rd2;",
    "cp.async": "cp.async.cg.shared.global [%0], [%1], 16;",
    "fma": "fma.rn.f32 %f1, %f2, %f3, %f4;",
    "a stack address": "0x7ffd1a2b3c4d",
    "a device address": "0x00007f21a0d1e5a0",
    "a heap address": "0x5581f3a2c010",
    "an address with a name": "p = 0x7ffd1a2b3c4d",
    "a number": "42",
    "a decimal": "3.14159",
    "a long number": "1234567890123456789",
    "digits of a hash": "deadbeefdeadbeef",
    "a phone number": "+44 20 7946 0958",
    "SQL": "SELECT a, b FROM t WHERE id = 4;",
    "YAML": "name: x\nversion: 1.2\nsteps:\n  - run: make",
    "TOML": '[package]\nname = "a"\nversion = "0.1"',
    "HTML": '<div class="a"><span>1</span></div>',
    "CSS": ".a { color: #fff; margin: 0 4px }",
    "a shell": "for f in *.c; do gcc -O2 $f; done",
    "a diff": "--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,4 @@\n-int a;\n+int b;",
    "nvidia-smi": "| 0  NVIDIA H100 80GB HBM3  On | 00000000:1B:00.0 Off |  0 |",
    "a tensor": "tensor([[1., 2.], [3., 4.]], device='cuda:0')",
    "a size": "torch.Size([128, 64])",
    "an array": "array([3.5, 1.25, 7.0], dtype=float32)",
    "an array of identifiers": "array([1234567890123456789, 1234567890123456790], dtype=int64)",
    "a point": "$2 = {x = 3, y = 4}",
    "halves of an address": "ptr lo = 0x44000000 hi = 0x00007f2e",
    "an encoding of SASS": "/*0520*/ LDG.E.128 R4, [R2.64] ;  /* 0x000800041f14783b */\n/* 0x000e680008000200 */",
    "a pointer in PTX": "mov.u64 %rd1, 139842953216000;",
    "small numbers in registers": "MOV R2, 0x10 ;\nMOV R3, 0x20 ;",
    "a small number in PTX": "mov.u64 %rd2, 0x100000000;",
    "two small halves in PTX": "mov.b32 %r1, 1; mov.b32 %r2, 5; mov.b64 %rd1, {%r1, %r2};",
    "an intrinsic without its words": "llvm.nvvm.wmma.....",
    "a type of no element": "!tt.tensordesc<128x64xfoo>",
    "a ratio and words": "4:1 is the ratio of rows to columns",
    "a name in C": "int b;",
    "cp.async in CuTe": "using G = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, half_t>;",
    "a diff of words": "- the old sentence\n+ the new sentence",
    "a numbered list": "1 first\n2 second\n3 third",
    "a tuple": "(8, 64)",
    "a launch": "kernel<<<grid, block, smem, stream>>>(a, b, c);",
    "MLIR": "%0 = arith.addi %a, %b : i32",
    "LLVM": "%3 = add nsw i32 %1, %2",
    "a hex dump": "00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............",
    "CSV": "a,b,c\n1,2,3\n4,5,6",
    "a key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7",
    "Base64": "SGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0",
    "TeX": r"$\frac{1}{2}$",
    "a path": "/usr/local/cuda/bin/nvcc",
    "Chinese prose": "今天天气很好。",
    "Korean prose": "오늘은 날씨가 좋습니다.",
}
PIECES = (  # beginnings, ends and middles of what each recogniser looks for
    "TiledMMA<",
    "make_tiled_mma(",
    "make_tiled_copy(",
    "Layout<Shape<",
    "(1,",
    "<{",
    "#ttg.blocked<{a = [",
    "gl.BlockedLayout([",
    "#a = #a ",
    "using A = A;",
    "X = Y\nY = X\n",
    "tile_to_shape(",
    "composition(Swizzle<",
    "Permutation MNK: (",
    "Thr Layout VMNK: ",
    "desc: 0x4",
    "lo: 1 hi: 2 ",
    "0x7f00: 0x1 0x2\n",
    "$1 = 1\n",
    "i64 1234567890123 ",
    "tcgen05.",
    "HGMMA.64x8x16.F32 R1, gdesc[",
    "wgmma.mma_async.f16.f16 {",
    "warp.MmaF16BF16Op(",
    "Layout_K_SW128_Atom<",
    "a ? b : ",
    "a[",
    "!",
    "-",
    "::",
    "'",
    '"',
    "/*",
    "fragment<a,",
    "Tiler_MN: (",
    "共享",
    "smem_desc ",
    "_1,",
    "Int<",
    ">",
    "}>",
    "1 * ",
    "X{}",
    "tensor<1x",
    "start_addr: 0x1 ",
    "&lt;",
    "a\u200b",
    "\x1b[1ma",
    "// x\n",
    "@@ -1 +1 @@\n+ ",
    "a.cu:1:",
    "llvm.nvvm.mma.m16n8k16.row.col.",
    "nvvm.wgmma.mma_async %a, <m = 64, ",
    "nvgpu.mma.sync (%a) {mmaShape = [16, ",
    'ptx_mma("m16n8k16", "row", ',
    "T.ptx.mma.sync.aligned.",
    "!tt.tensordesc<1x",
    "!nvgpu.tensormap.descriptor<tensor = memref<1x",
    "array([4611686293305360640, ",
    "mov.b64 %a, {%b, ",
    "{x = 1, y = ",
    "llvm.nvvm.wmma.....",
    "```x\n",
    "- a\n+ a\n",
)


@for_each("name", NOTHING, sample=24)
def test_what_is_none_of_these_is_unknown(name: str) -> None:
    told = text_meanings.read_text(NOTHING[name])
    assert told.kind == "unknown", (told.kind, told.title)


def test_random_text_is_nothing() -> None:
    """Words, digits and marks at random, the same in every run."""
    choose = random.Random(14)
    alphabet = string.ascii_letters + string.digits + "      .,:;()[]{}<>=_-+*/%&|#\n"
    for _ in range(choose_count(400, 150)):
        text = "".join(choose.choice(alphabet) for _ in range(choose.randrange(20, 200)))
        assert {one.kind for one in reader.recognise_text(text).found} == set(), text


# Texts of nearly 64 KiB whose long run of one thing a pattern might try from each of its places.
RUNS = (
    "a" * 60000 + "     (2,2):(1,2)",
    f"Tiler_MN: x{' ' * 60000}y",
    f"ThrLayoutVMNK: x{' ' * 60000}y",
    f"make_tiled_mma(x{' ' * 60000}",
    "\n" * 64000,
    f"i64 ={' ' * 64000}",
    f"constant{' ' * 60000}",
    f"lo{' ' * 60000}",
    f"desc{' ' * 60000}x",
    f"a: {'b ' * 30000}",
    "#if desc\n" * 7000,
    "mma.sync." * 7000,
    "union { " * 8000,
    "Making TMA desc: shape 1 outer stride " * 1700,
    f"boxDim{' ' * 30000}swizzle{' ' * 30000}shape",
    "std::conditional_t<a, " * 2900,
    "MMA_Traits<a> {" * 4000,
    "&desc_a.b->c " * 5000,
    "SM90_64x7x16_F32BF16BF16_SS " * 2000,
    f'asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%0}}, {"1" * 6000}, %5, 1,1,1,0,0;" : "+f"(a) : "l"(b))',
)


@for_each("text", take_sample(RUNS, 6), ids=lambda text: text[:12].split("\n")[0], sample=2)
def test_a_long_run_is_read_by_the_reader_and_the_workbench(text: str) -> None:
    assert not {one.kind for one in reader.recognise_text(text).found} & {"tiled_mma", "tiled_copy", "descriptor"}
    assert build_workbench(text).verdict == "unknown"


def test_a_text_that_is_asked_for_often_stays_readable() -> None:
    """What a text costs is counted anew each time."""
    text = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>" * 8
    first = [one.kind for one in reader.recognise_text(text).found]
    assert "triton" in first
    for _ in range(150):
        assert [one.kind for one in reader.recognise_text(text).found] == first


@for_each("piece", PIECES, sample=16)
def test_no_shape_of_text_goes_round_for_ever(piece: str) -> None:
    """A text that hangs or raises is the failure; what it is called does not matter."""
    long = choose_count(reader.LONGEST, reader.LONGEST // 32)
    for text in ((piece * long)[:long], piece * 40):
        try:
            reader.recognise_text(text)
        except LayoutError as error:
            raise AssertionError(piece) from error


def test_pieces_in_any_order_are_read_or_refused() -> None:
    choose = random.Random(15)
    for _ in range(choose_count(120, 25)):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randrange(2, 40)))
        text_meanings.read_text(text)


CUT = (  # pastes that once raised
    "cutlass::arch::Mma<cutlass::gemm::GemmShape<16, 8, 8>, 32, cutlass::tfloat32_t, cutlass::layout::RowMajor, ...>",
    "- register=1 -> (1, 0)\n- lane=1 -> (0, )\nwhere out dims are: [dim1 (size 2), dim0 (size 2)]",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd12, %rd52, 1, 1, 1, 0,",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd12, %rd52, 1, 1, 1, , ;",
)


def test_texts_that_are_cut_or_lack_a_part_are_read_or_refused() -> None:
    """Every place of a token of a real text may be its end, or have dots instead."""
    choose = random.Random(16)
    texts = [entry.text for entry in reader_corpus.load_entries() if len(entry.text) < 1500]
    for text in choose.sample(texts, choose_count(len(texts), 15)):
        tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
        place = choose.randrange(len(tokens))
        for broken in ("".join(tokens[:place]), "".join([*tokens[:place], "...", *tokens[place + 1 :]])):
            text_meanings.read_text(broken)
    for broken in CUT:
        text_meanings.read_text(broken)
