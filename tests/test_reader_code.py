"""Code that builds descriptors and tensor maps, read as layouts/reader/code reads it.

tests/golden/builders holds the texts, each with its source, written anew from public code, and what comes of it, worked
out by hand. What g++ makes of the same functions, compiled and run, is the other witness of the words.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from lanescope import reader
from lanescope.reader.code import evaluation
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.maps.tma_rules import TensorMap
from tests.cases import for_each
from tests.found_in_code import find_builders, find_tensor_maps
from tests.sample import choose_count

GOLDEN = Path(__file__).parent / "golden" / "builders"


@dataclass(frozen=True)
class ReaderCase:
    """One text: its file and title, what its head says, the code."""

    file: str
    title: str
    head: dict[str, str]
    code: str

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def expected(self) -> dict[str, str]:
        told = self.head.get("expect") or self.head["map"]
        return {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in told.split(";"))}


def load_cases() -> list[ReaderCase]:
    out = []
    for path in sorted(GOLDEN.glob("*.txt")):
        for section in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            head, _, code = section.partition("\n---\n")
            title, *lines = head.split("\n")
            told = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
            out.append(ReaderCase(path.stem, title, told, code))
    return out


CASES = load_cases()
BUILT = [case for case in CASES if "expect" in case.head]
MAPPED = [case for case in CASES if "map" in case.head]
COMPILED = [case for case in BUILT if "oracle" in case.head and "nooracle" not in case.head]


def get_builder_field(builder: DescriptorBuilder, key: str) -> str:
    """A field of a builder as the texts' heads write it."""
    values = {
        "format": builder.format,
        "lbo": builder.lbo_bytes,
        "sbo": builder.sbo_bytes,
        "base": builder.base_offset,
        "swizzle": builder.swizzle,
        "start": builder.start,
        "name": builder.name,
        "operand": builder.operand,
        "word": None if builder.word is None else f"0x{builder.word:016x}",
        "free": ",".join(builder.free),
        "warn": ",".join(dict.fromkeys(w.code for w in builder.warnings if w.code != "reserved_bits")),
    }
    return str(values[key])


@for_each("case", BUILT, ids=str)
def test_a_builder_is_read(case: ReaderCase) -> None:
    found = find_builders(case.code)
    assert found
    wanted = case.expected
    chosen = next((b for b in found if b.name == wanted["name"]), None) if "name" in wanted else found[0]
    assert chosen is not None, [b.name for b in found]
    assert {key: get_builder_field(chosen, key) for key in wanted} == wanted
    assert set(wanted) >= {"warn"} or not [w for w in chosen.warnings if w.code != "reserved_bits"]


SHIMS = """#include <cstdint>
#include <cstddef>
#include <cstdio>
#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
struct half { uint16_t x; };
typedef half bf16;
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
template <class... T> void use(T...) {}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_compiled_code_makes_the_same_words(tmp_path: Path) -> None:
    """Every text's function, compiled and called, gives the word that the evaluator gives for the same call."""
    bodies = [re.sub(r"asm( volatile)?\([^;]*\);", "", case.code) for case in COMPILED]
    parts = [f"namespace n{n} {{\n{body}\n}}" for n, body in enumerate(bodies)]
    calls = "\n".join(
        f'{{ using namespace n{n}; printf("%llu\\n", (unsigned long long)({case.head["oracle"]})); }}'
        for n, case in enumerate(COMPILED)
    )
    (tmp_path / "words.cpp").write_text(SHIMS + "\n".join(parts) + "\nint main() {\n" + calls + "\n}\n")
    program = tmp_path / "words"
    made = subprocess.run(
        ["g++", "-std=c++17", "-w", "-fpermissive", "-o", str(program), str(tmp_path / "words.cpp")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    for case, word in zip(COMPILED, printed, strict=True):
        found = find_builders(f"{case.code}\nuint64_t probe_desc = {case.head['oracle']};\n")
        probe = next((b for b in found if b.name == "probe_desc"), None)
        assert probe is not None, (str(case), [b.name for b in found])
        assert probe.word == int(word), (str(case), probe, hex(int(word)))


def format_finding(found: TensorMap, key: str) -> str:
    def row(values: tuple[int | None, ...]) -> str:
        return ",".join("?" if v is None else str(v) for v in values)

    storage = found.storage or {"kind": "-"}
    keys = {"rows": ("pitch_bytes",), "atoms": ("width_bytes", "outer8_stride", "inner_stride"), "-": ()}
    told = [storage["kind"], *(str(storage[k]) for k in keys.get(storage["kind"], ("major", "mn", "k")))]
    return {
        "type": found.data_type or "-",
        "box": row(found.box),
        "dims": row(found.dims),
        "strides": row(found.strides),
        "swizzle": found.swizzle or "-",
        "storage": " ".join(told),
        "problems": ",".join(p.code for p in found.problems),
    }[key]


@for_each("case", MAPPED, ids=str)
def test_a_tensor_map_is_read(case: ReaderCase) -> None:
    found = find_tensor_maps(case.code)
    assert len(found) == 1
    wanted = case.expected
    left_open = [name for name in wanted.pop("open", "").split(",") if name]
    assert {key: format_finding(found[0], key) for key in wanted} == wanted
    assert set(left_open) <= set(found[0].undetermined)
    assert "problems" in wanted or not found[0].problems


# Texts that are neither: what they are, and a text. None of them may be read as a builder or a tensor map.
CONFUSED = {
    "PTX": "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f0, %f1}, desc_a, desc_b, p, 1, 1, 0, 0;",
    "a word": "desc = 0x4000004000010100",
    "CuTe's print": "Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_16),(_64,_1)):((_64,_512),(_1,_0))",
    "SASS": "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], RZ, !UPT",
    "two halves of any word": "uint64_t word = ((uint64_t)hi << 32) | lo;",
    "a hash": "h ^= h << 13; h ^= h >> 7; h ^= h << 17; uint64_t key = (uint64_t)a << 32 | (uint64_t)b << 16 | c;",
    "flags": "enum { A = 1 << 0, B = 1 << 16 }; uint64_t flags = A | B;",
    "an instruction descriptor": "uint32_t idesc = (1u << 4) | (1u << 7) | (1u << 10) | ((256 / 8) << 17) | (8 << 24);",
    "one in the upper half": "uint32_t i = (1u << 4) | (N >> 3 << 17) | (8u << 24); uint64_t desc = uint64_t(i) << 32;",
    "words about it": "The matrix descriptor holds LBO at bits 16 to 29; swizzle 128B is code 1 at bit 62.",
    "a barrier": "uint64_t mbar_desc = ((uint64_t)phase << 62) | ((uint64_t)count << 32) | address;",
    "SQL": "SELECT desc FROM tables WHERE swizzle = 1 ORDER BY id DESC;",
    "JSON": '{"desc": 1, "swizzle": "128B", "boxDim": [64, 128]}',
    "an mma": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0}, {a0}, {b0}, {c0};",
    "a copy": "auto tiled_copy = make_tiled_copy(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Layout<Shape<_16,_8>>{});",
}


@for_each("name", CONFUSED)
def test_other_texts_are_neither(name: str) -> None:
    assert find_builders(CONFUSED[name]) == ()
    assert find_tensor_maps(CONFUSED[name]) == ()


WORDS = (
    "desc |= << >> ( ) { } [ ] ; , < > = + - * & ~ ? : 1 62 0x3FFFF 1ull 64 uint64_t uint32_t int for if else return"
    " while switch case struct union template <int #define X(a) \n auto k ++ static_cast< desc.bitfield.layout_type_"
    " def lambda in range class self . -> :: __cvta_generic_to_shared cuTensorMapEncodeTiled( asm volatile("
    ' "" "l" " \' // /* */ # @'
).split(" ")


@settings(max_examples=choose_count(150, 12), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join) | st.text(max_size=80).map(lambda t: "desc |= " + t))
def test_no_text_breaks_it(text: str) -> None:
    for built in find_builders(text):
        assert built.format in ("wgmma", "tcgen05")
        assert all(0 <= a <= b <= len(text) for spans in built.origins.values() for a, b in spans)
        assert built.word is None or 0 <= built.word < 1 << 64
    for found in find_tensor_maps(text):
        assert len(found.undetermined) == len(set(found.undetermined))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_no_cut_of_a_text_breaks_it(case: ReaderCase, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(case.code)))
    end = data.draw(st.integers(start, len(case.code)))
    find_builders(case.code[start:end])
    find_tensor_maps(case.code[:start] + case.code[end:])


LONG = 1 << 14
HARD = {
    "parentheses": "desc |= " + "(" * LONG,
    "angles": "desc |= " + "a<" * LONG,
    "braces": "desc |= " + "{" * LONG,
    "casts": "desc |= " + "(a)" * LONG,
    "loops": "for (int i = 0; i < 1 << 30; ++i) " * 200 + "desc |= 1ull << 62;",
    "endless": "while (true) { desc |= desc << 1; }",
    "recursion": "int f(int x) { return f(x + 1) << 1; } int desc = f(0);",
    "a macro of itself": "#define A A A\n#define B A B A\nuint64_t desc = B;",
    "doubling macros": "\n".join(f"#define M{n} M{n + 1} M{n + 1}" for n in range(40)) + "\nuint64_t desc = M0;",
    "growing integers": "def desc():\n    x = 3\n    while True:\n        x = x * x\n    return x << 62\n",
    "long shifts": "desc = 1 << (1 << (1 << 62))\ndesc |= 2 ** 2 ** 2 ** 2 ** 62\n",
    "calls of calls": "def desc():\n    x = 1\n    while True:\n        x = f(x, x)\n        y = g(x, x) << 1\n",
    "objects in objects": "struct S { T a; T b; };\nvoid desc() { S o; for (;;) for (;;) { o.a = o; o.b = o; } }",
    "aliases": "using T0 = X<a, a>;"
    + "".join(f"using T{n} = X<T{n - 1}, T{n - 1}>;" for n in range(1, 60))
    + "uint64_t desc = sizeof(T59) << 1;",
    "nested arrays": "def desc():\n    x = [1]\n    while True:\n        x = [x, x, x, x]\n        y = f(x) << 1\n",
}


@for_each("name", HARD)
def test_hard_texts_end(name: str) -> None:
    """Texts made to take long end within the budget: it counts steps, so no clock is needed."""
    made = evaluation.evaluate_text(HARD[name])
    assert made is None or len(made.descriptors) < 1000
    find_builders(HARD[name])
    find_tensor_maps(HARD[name])


def test_every_field_says_where_it_came_from() -> None:
    case = next(c for c in BUILT if c.title == "an encode helper, a K loop")
    found = find_builders(case.code)[0]
    told = {name: [case.code[a:b] for a, b in spans] for name, spans in found.origins.items()}
    assert "enc((uint64_t)1024) << 32" in told["sbo"]
    assert "1024" in told["sbo"]
    assert "1llu << 62" in told["swizzle"]
    assert [step.start for step in found.steps] == ["tile", "tile + 32", "tile + 64", "tile + 96"]


@for_each(
    "text",
    [
        "desc |= 64ull << 32;\ndesc |= 1ull << 62;",
        "struct K : Base { void f() { d_ |= 64ull << 32 | 1ull << 62; g(d_); } };",
    ],
)
def test_fields_that_the_lines_above_may_set_are_open(text: str) -> None:
    (found,) = find_builders(text)
    assert (found.lbo_bytes, found.sbo_bytes, found.swizzle, found.word) == (None, 1024, "128B", None)
    assert isinstance(found.start, str)


def test_a_template_argument_may_be_an_array() -> None:
    assert not find_builders(
        "struct Allocator {\n  void align() { if (p % alignment != 0) {} }\n"
        "  template <typename A> A& allocate() { A* out = reinterpret_cast<A*>(ptr); }\n};\n"
        "prefetch_tma_descriptor(&D_tmap);\nAllocator al((int*)&__shm[0]);\ntile (&a)[N] = al.allocate<tile[N]>();\n"
    )


def test_a_macro_is_marked_where_it_is_used() -> None:
    text = next(c for c in BUILT if c.title == "macros").code
    found = find_builders(text)[0]
    assert all(text[a:b] == "MAKE_DESC(0x5400, 128, 256)" for spans in found.origins.values() for a, b in spans)


@for_each("case", CASES, ids=str)
def test_the_reader_reads_every_text(case: ReaderCase) -> None:
    """Through the one door: the kind, and the facts that the contract names."""
    kind = "builder" if "expect" in case.head else "tensor_map"
    found = [
        one for one in reader.recognise_text(case.code).found if one.kind in ("builder", "tensor_map", "descriptor")
    ]
    assert found
    assert {one.kind for one in found} == {kind}
    keys = {
        "builder": {"fields", "start", "format", "word", "warnings"},
        "tensor_map": {"storage", "element_bits", "box", "swizzle"},
    }[kind]
    opened = {"free"} if kind == "builder" and None in found[0].facts["fields"].values() else set()
    assert set(found[0].facts) == keys | opened


def test_one_line_of_triton_is_python() -> None:
    text = "tl.make_tensor_descriptor(p, shape=[M, K], strides=[K, 1], block_shape=[64, 32])"
    (found,) = find_tensor_maps(text)
    assert found.box == (32, 64)


# values that c++ changes where no assignment is seen ------------------------------------------------------------------

CONVERSION = "struct C {{ int& r; operator {0}() {{ r = 5; return {0}(); }} }};"
FLOAT, INT = CONVERSION.format("float"), CONVERSION.format("int")


def find_value(declarations: str, body: str) -> int | None:
    """Return the value that n has at the end of a function; None if it is left open."""
    word = "uint64_t desc = 0x400 | 1ull << 16 | uint64_t(n) << 32 | 1ull << 62;"
    code = evaluate_text(f"{declarations}\nint main() {{ int n = 1; {body} {word} use(desc); }}")
    assert code is not None
    (used,) = [call for call in code.bodiless_calls if call.term.head == "use"]
    value = get_integer(used.term.arguments[0])
    known = value.known if value is not None else None
    return None if known is None else known >> 32 & 0x3FFF


FOLLOWED = {
    "a conversion to float": (FLOAT, "C c{n}; float f = c;", 5),
    "a condition that converts": (FLOAT, "C c{n}; if (c) {}", 5),
    "an index that converts": (INT, "C c{n}; int v[3] = {}; int z = v[c];", 5),
    "an offset that converts": (INT, "C c{n}; int v[3] = {}; int* p = v + c;", 5),
    "a conversion to a pointer": (
        "struct C { int v = 1; operator int*() { return &v; } };",
        "C c; int* p = c; *p = 5; n = c.v;",
        5,
    ),
    "a conversion to a class": ("struct H {}; " + CONVERSION.format("H"), "C c{n}; H h = c;", 5),
    "a constructor that takes a reference": ("struct H { H(int& r) { r = 5; } };", "H h = n;", 5),
    "decltype of an expression": ("", "decltype((n)) r = n; r = 5;", 5),
    "decltype of a name": ("", "decltype(n) r = n; r = 5;", 1),
    "decltype of a target": ("", "int* p = &n; decltype(*p) r = n; r = 5;", 5),
    "decltype of a reference": ("void f(int& x) { decltype(x) r = x; r = 5; }", "f(n);", 5),
    "std::move": ("", "int&& r = std::move(n); r = 5;", 5),
    "a member of reference type": ("template <class T> struct H { T v; };", "H<int&> h{n}; h.v = 5;", 5),
    "a while loop that counts down": ("", "int k = 3; n = 0; while (k--) ++n;", 3),
    "a loop whose condition calls": ("int g = 0; int step() { return ++g; }", "while (step() < 5) n += g;", 11),
}


@for_each("name", FOLLOWED)
def test_what_changes_a_value_is_followed(name: str) -> None:
    declarations, body, value = FOLLOWED[name]
    assert find_value(declarations, body) == value


FORGOTTEN = {
    "std::ref": "auto r = std::ref(n); n = 2; r.get() = 5;",
    "a tuple of references": "std::tuple<int&> t(n); std::get<0>(t) = 5;",
    "a reference wrapper": "std::reference_wrapper<int> r{n}; r.get() = 5;",
    "a type that is not known": "decltype(unknown(n)) r = n; r = 5;",
}


@for_each("name", FORGOTTEN)
def test_what_may_change_a_value_leaves_it_open(name: str) -> None:
    assert find_value("", FORGOTTEN[name]) is None


@for_each(
    ("line", "doubted"),
    [
        ("const uint64_t mode = WIDE_128B ? 2 : 0;", False),  # it chooses between modes
        ("const uint64_t mode = 0;  // 128B", True),
        ("const uint64_t lbo = ROWS * 16;  // 16 bytes a row", False),  # the comment is about a factor
        ("const uint64_t lbo = ROWS * 16;  // 8 bytes a row", True),
    ],
)
def test_what_a_line_says_of_a_part_of_its_value_is_no_contradiction(line: str, doubted: bool) -> None:
    rest = "".join(one for one in ("const uint64_t mode = 0;\n", "const uint64_t lbo = 0;\n") if one[:20] != line[:20])
    code = (
        f"template <bool WIDE_128B = false, int ROWS = 0> __device__ uint64_t make(const half* p) {{\n{line}\n{rest}"
        "return (__cvta_generic_to_shared(p) & 0x3FFFF) >> 4 | lbo << 16 | 8ull << 32 | 1ull << 46 | mode << 61;\n}\n"
        "__global__ void k() { __shared__ half p[64]; use(make(p)); }\n"
    )
    doubts = [doubt.code for one in find_builders(code) for doubt in one.doubts]
    assert ("comment_contradicts" in doubts) == doubted
