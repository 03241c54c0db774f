"""Which texts are read as code, and as what: brackets, macros, printed lines, names, and the most that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from layouts.reader.code import brackets, builders, evaluate, preprocess
from tests.calls import Call
from tests.calls.code import told

# brackets -------------------------------------------------------------------------------------------------------------

BARE = (
    "(a) + 1", "( a ) - 1", "(\ta\t) * x", "(a) & y", "(a) && y", "(a)++", "(a) += 1", "(a) -= 1", "(a) -- 1",
    "(a) / 1",
    f"({' ' * 8}a) + 1", f"({' ' * 9}a) + 1", f"(a{' ' * 8}) + 1", f"(a{' ' * 9}) + 1", f"(a){' ' * 40}+ 1",
    f"(a){' ' * 41}+ 1", f"({'n' * 61}) + 1", f"({'n' * 62}) + 1", "(a.b) + 1", "(1) + 1", "(_a1) + 1", "f (a) + 1",
    *(f"{begin}(a) + 1" for begin in "( [ { , ; = + - * / % & | ^ ! ~ < ? : > ) ] } x . \"".split()),
    *(f"{word_} (a) + 1" for word_ in "return case throw co_return else do returns xdo goto".split()),
    *(f"{kind} t; (t) + 1" for kind in "typename class struct enum union using typedefs".split()),
    "typedef int t; (t) + 1", "typedef unsigned long t ; (t) + 1", f"typedef int t{' ' * 8}; (t) + 1",
    f"typedef int t{' ' * 9}; (t) + 1", f"typedef {'l' * 199} t; (t) + 1", f"typedef {'l' * 201} t; (t) + 1",
    *(f"({name}) - 1" for name in
      "void auto decltype sizeof alignof double float half my_t T TT Tt tT K_1 int unsigned uint32_t size_t".split()),
    *(f"({cast})(a) + 1" for cast in (
        "half*", "const half*", "volatile half", "const half", "half* const", "half **", "vec<int>", "Vec<int>",
        "ns::x_t",
        "ns::x", "x", "x*", "const Vec<a, b>", "Vec<a<b>>", "std::uint8_t", "1", "x::*",
    )),
    f"({'T' + 't' * 77})(a) + 1", f"({'T' + 't' * 78})(a) + 1",
)  # fmt: skip


def of_code_brackets() -> Iterator[Call]:
    for text in BARE:
        yield text[:70], partial(brackets.bare, text)


# which texts are read, and as what ------------------------------------------------------------------------------------

PYTHON_LINES = (
    "def f(a):", "class A:", "def f(a): # x", "def f(a) {", "import a", "from a.b import c", "from a import", "if a:",
    "for a:", "while a:", "elif a:", "else:", "with a:", "if (a) {", "if a: # x", "# a", "#!a", "# !a", "##",
    "a self.b",
    "@a", "a None", "a True", "a False", "a not in b", "a = [b]", "a = [b];", "f a=[b c", "f a=(b c", "tl.a", "torch.a",
    "triton.a", "gl.a", "np.a", "ctypes.a", "a = b", "a.b = c", "a |= b", "a <<= b", "a += b", "a -= b", "a = b,",
    "a = b;",
)  # fmt: skip
CXX_LINES = (
    "a;", "a; // b", "#include <a>", "#define a", "#if a", "#ifdef a", "#pragma a", "#endif", "# include <a>", "// a",
    "a /* b", "uint32_t", "__device__", "constexpr", "template", "static_cast", "reinterpret_cast", "auto", "void",
    "unsigned", "{", "}", "a {", "a::b", "1ull", "1ULL", "1ll", "a->b",
)  # fmt: skip
CLUES = (
    "desc DESC << |= bitfield layout_type start_address byte_offset tensor_map tensormap nvgpu.tensor_map make_tma"
    " tma_atom"
    " make_tensor_desc swizzle gmma umma matrix_d :14, :14; :14 nothing :15,"
).split()
PRINTED = (
    "wgmma.mma_async.sync d, a;", "mma.sync.m16n8k16 x", "wmma.load.a x", "ldmatrix.x4 x", "stmatrix.x4 x",
    "xmma.sync x",
    "SM90_64x64x16", "SM9_64", "SM100_A<b>", "SM1000_A", f"SM90_A<{'b' * 120}>", f"SM90_A<{'b' * 121}>", "(gdb) p x",
    "(cuda-gdb) p x", "(x-gdb) p", "$1 = 2", "$123456 = 2", "$1234567 = 2", "/*0010*/ HGMMA.64 R1;", "/*001*/ HGMMA.64",
    "/*001000*/ HGMMA.64", "/*0010000*/ HGMMA.64", "@P0 HGMMA.64", "@!P0 HGMMA.64", "@UP0 HGMMA.64", "@!UPT QGMMA.6",
    "@R0 HGMMA.64",
    "HMMA.1", "MMA.1", "XXHMMA.1", "XXXHMMA.1", "Sw<3,4,3> o 0 o (8):(1)", "Swizzle<3,4,3>:", "S<3,4,3> : 1",
    "T<3,4,3> : 1",
    "sA: Sw<3,4,3> : 1", "sA = Sw<3,4,3> : 1", "a[0].b (c) * Sw<3>:1", f"{'a' * 40}: Sw<3>:1", f"{'a' * 41}: Sw<3>:1",
    "(8,8):(8,1)", "x: (8,8):(8,1)", "(8, _8):(8, 1)", f"({'8' * 200}):(1)", f"({'8' * 201}):(1)", f"(8):({'1' * 200})",
    f"(8):({'1' * 201})", f"{'x' * 40}: (8):(1)", f"{'x' * 41}: (8):(1)", "0x123456789", "0x12345678",
    "desc: 0x123456789",
    "desc 0x123456789, 0x123456789", "0x1234567890123456", "0x12345678901234567", f"a{'b' * 40}:0x123456789",
    f"a{'b' * 41}:0x123456789", f"0x123456789{' ' * 8}0x123456789", f"0x123456789{' ' * 9}0x123456789",
    "a[0] 0x123456789",
    "  (8):(1)  ", "(8):(1)\r", "(8):(1) x",
)  # fmt: skip


def of_code_reading() -> Iterator[Call]:
    for line in PYTHON_LINES:
        yield (
            f"Python {line}",
            lambda line=line: "".join(str(int(evaluate.is_python(f"{line}\n" + "a->b\n" * many))) for many in range(5)),
        )
    for line in CXX_LINES:
        yield (
            f"C++ {line}",
            lambda line=line: "".join(
                str(int(evaluate.is_python(f"{line}\n" + "self.a\n" * many))) for many in range(7)
            ),
        )
    for long in (8185, 8186, 8187):
        yield f"after {long}", lambda long=long: evaluate.is_python("x" * long + "\nself.a\n")
    for clue in CLUES:
        yield (
            f"clue {clue}",
            lambda clue=clue: evaluate.evaluate(f"int {'a' if clue[:1] in ':<|' else ''} {clue}") is None,
        )
    for line in PRINTED:
        yield (
            f"printed {line[:60]} of {len(line)}",
            lambda line=line: [
                f"{len(one)} {one.strip()[:20]}"
                for one in evaluate._without_printed(f"use(1);\n{line}\nuse(2);").split("\n")
            ],
        )
    for many in (65534, 65535, 65536):
        yield f"a text of {many}", lambda many=many: told(f"use(1 << 2);{' ' * (many - 19)}use(3);")


CONDITIONS = (
    "#if 0", "#if 1", "#if (0)", "#if ( 2 )", "#ifdef A", "#ifdef B", "#ifndef A", "#ifndef B", "#if defined(A)",
    "#if defined A",
    "#if !defined(A)", "#if !defined(B)", "#if defined(B)", "#if ! defined A", "#if A", "#if (A)", "#if A == 3",
    "#if A == 4", "#if A != 3",
    "#if A != 4", "#if A >= 3", "#if A >= 4", "#if A <= 3", "#if A <= 2", "#if A > 2", "#if A > 3", "#if A < 4",
    "#if A < 3",
    "#if Z", "#if Z == 0", "#if T", "#if T == 2", "#if B", "#if !A", "#if !B", "#if !CUDA_X", "#if !SM90",
    "#if !SM_90", "#if CUDA_VERSION",
    "#if X_SM90", "#if SM_90", "#if MY_ARCH", "#ifdef __NVCC__", "#ifdef HOPPER", "#if __cplusplus >= 2",
    "#if x > 1 // SM90", "#if",
    "# if 0", "#if A ==", "#if A == x", "#elif 1", "#else",
)  # fmt: skip
MACROS = (
    "#define F(a, b) a + b\nF(1, 2) F(1) F(1, 2, 3) F((1, 2), 3) F[1] F F({1, 2}, [3, 4])", "#define G(...)"
    " f(__VA_ARGS__)\nG(1, 2) G()",
    "#define H(a, ...) a(__VA_ARGS__)\nH(x, 1, 2)", "#define J(r...) f(r)\nJ(1, 2)",
    "#define K(a, b) a ## b\nK(x, y)", "#define L() 5\nL() L",
    "#define M 1 // x\nM;", "#define N 1 /* x */ + 2\nN;", "#define O \\\n 3\nO;", "#define P P + 1\nP", "#define Q"
    " R\n#define R Q\nQ R",
    "#define S 1\n#undef S\nS", "# define T 2\nT '\\'' \"T\" // T\n/* T */ T", "#define U\nU x U", "#define V(a)"
    " #a\nV(x) V( x", "#define W (1\nW)",
    "#define X1 1\n#define X1 2\nX1 1X1 1.5X1", "#if 0\n#define Y 1\n#endif\nY", "#if 0\n#undef A\n#endif\nx",
    "#pragma x\ny", "#\nx", "x\n#endif\ny\n#else\nz",
)  # fmt: skip
ATTRIBUTES = (
    *(f"MY_{word_} x" for word_ in "DEVICE INLINE HOST GLOBAL CALLABLE UNROLL HDFUNC API DEVICES".split()), "XAPI x",
    "MyDEVICE x",
    *(f"A_DEVICE{mark}x" for mark in "( : < . = ; , ) + [".split()), "A_DEVICE (x)", "AB void", "ABC void",
    "A_1 void", "Abc void",
    *(f"MACRO {word_} x" for word_ in "static inline constexpr void auto bool int unsigned int32_t uint8_t uint32"
                                      " size_t float voids uint3".split()),
    *(f"{word_} x" for word_ in "__forceinline__ __noinline__ __inline__ __grid_constant__ __restrict__ __restrict"
                                " noexcept".split()),
    "__attribute__((a)) x", "__attribute__((a(b))) x", "__attribute__ ((a(b)c)) x", "__align__(16) x", "__align__"
    " (a) x", "alignas(a(b)) x",
    "alignas (8) x", "[[a]] x", "[[a\n]] x", "[[a]b]] x", "a[b[0]] x", "xnoexcept", "é x",
)  # fmt: skip
RUST = (
    "let d: u64 = 1;", "let mut d = 2u64;", "let d = 2_u64 | 0x3_0u64 | 10_000u64;", "let d = 5 as u64 | x as u64;",
    "let d = x as u32 | y as usize | (z) as u64;",
    "let d: u32 = 3; u64", "u64 d = 3;", "x.1u64", "let d = a_2u64; 1u64x", "let d: u64 = 1 as u64x;", "x as u64",
    "let  d = u64;",
)  # fmt: skip


def of_code_preprocessor() -> Iterator[Call]:
    defined = "#define A 3\n#define Z 0\n#define T x\n"
    for text in CONDITIONS:
        yield (
            text,
            lambda text=text: [
                preprocess.prepare(f"{defined}{text}\na\n{more}#endif\nz\n").text
                for more in (
                    "",
                    "#else\nb\n",
                    "#elif 1\nb\n#else\nc\n",
                    "#elif 0\nb\n#elif A\nc\n#else\nd\n",
                    "#if 0\nb\n#else\nc\n#endif\nd\n",
                )
            ],
        )
    for text in (*MACROS, *ATTRIBUTES, *RUST):
        yield text.replace("\n", "|")[:80], lambda text=text: repr(preprocess.prepare(text))
    for deep in (11, 12, 13, 14):
        chain = "".join(f"#define n{n} n{n + 1}\n" for n in range(deep))
        yield f"{deep} macros in one another", lambda chain=chain: preprocess.prepare(f"{chain}n0;").text
    for many in (3999, 4000, 4001):
        yield f"{many} expansions", lambda many=many: preprocess.prepare("#define a b\n" + "a " * many).text.count("a")
    text = "#define a bcd\n#define f(x) x\nint a; f(a + 1);\n#if 0\nno\n#endif\nlast a\n"
    source = preprocess.prepare(text)
    yield "places", lambda: repr([
        source.original(low, high) for low, high in pairwise(range(0, len(source.text) + 4))
    ] + [source.original(low, low + 9) for low in range(len(source.text))] + [source.original(4, 4),
    preprocess.plain("ab").original(2, 2)])  # fmt: skip


OPERANDS = (
    "a b a_desc b_desc desc_a desc_b descA descB desc_sA desc_sb sA_desc sB_desc smem_a smem_b x_a_1 x_b_1 aDesc"
    " tileA tileB"
    " tileA1 tileAB tileAb tA_x desc_ab a1 b2 descA1 desca desc_A A B A_desc sa_desc map data bdesc x_sBdesc descs"
).split()


def of_code_operands() -> Iterator[Call]:
    for name in OPERANDS:
        yield name, partial(builders.operand_of, name)
    for name in "lo hi low high desc_lo descLo desc_Hi desc_high1 slow lo_1 Low xlo".split():
        yield f"half {name}", lambda name=name: bool(builders._HALF.search(name))
    for group in (
        "__cvta_generic_to_shared __nvvm_ptr_gen_to_shared cast_smem_ptr_to_uint get_smem_ptr smem_ptr shared_addr"
        " shmem_u32 smemaddr"
        " smem_ptr_to_int smem_addr_1 smem_u32x to_smem to_shared as_shared get_shared toshared to_shared_ptr"
        " as_smem_addr1 get_smem_u32"
        " to_smem_uint smem_u32 smemu32 u32_smem u32smem cvta cvta_to_shared cvta_to_smem cvta_x cvtato"
        " smem_ptr_to_uint_x"
        " generic_to_shared_x elect_smem_addr shared smem to_global TO_SHARED smem_desc xcvta",
        "desc_enc desc_encode smem_desc_encode smemdesc_enc matrix_desc_encode matrixdesc_enc descriptor_encode"
        " descenc encode_desc"
        " encodedesc encode_descriptor encode_matrix_desc encode_desc_field encode_descriptorfield"
        " encode_matrixdesc smem_matrix_desc_enc"
        " encode enc_desc desc_encoded DESC_ENC",
        "raw_pointer_cast make_smem_ptr recast_ptr forward move __builtin_assume_aligned launder to_address"
        " as_const ref __builtin_expect"
        " const_expr __ldg addressof __shfl readfirstlane __shfl_sync same",
    ):
        for name in group.split():
            yield f"calls {name}", lambda name=name: told(f"half* p; use({name}(p + 4, 2) + 0, {name}(p + 4) << 0);")
    for name in "addr desc enc int u32 u64 off base lo low xlo xlow lox lowx start slot sA p ADDR".split():
        yield f"widened {name}", lambda name=name: told(f"use((uint64_t)({name} + 1) << 0);")


def of_code_most() -> Iterator[Call]:
    """What is kept of many calls, statements and items; how often a loop turns."""
    heads = "xdesc xmma xgemm xmap xtma xtensor xencode XDESC other".split()
    alike = (
        "a(1 << 1);" * 257
        + "".join(f"{head}(0);" for head in heads)
        + "b(1, 2, 3, 4, 5, 6, 7, 8); c(1, 2, 3, 4, 5, 6, 7, 8, 9);"
    )
    yield "calls alike", lambda: told(alike)[255:]
    yield "of one name", lambda: len(told("desc(1);" * 258))
    calls = "".join(f"desc{n}(1);" * 255 for n in range(8))
    yield "calls", lambda: len(evaluate.evaluate(calls, 4).made)  # type: ignore[union-attr]
    for many in (400, 401):
        text = "uint64_t desc; " + 'asm("x");' * many
        yield f"{many} asm", lambda text=text: len(evaluate.evaluate(text).assembled)  # type: ignore[union-attr]
    for many in (63, 64, 65):
        listed = ", ".join(map(str, range(many)))
        yield f"{many} items", lambda listed=listed: told(f"int a[] = {{{listed}}}; use(a, a + (1 << 1)); f({listed});")
        yield f"an array of {many}", lambda many=many: told(f"int a[{many}]; use(a, a[1] << 1, a[{many - 1}]);")
        yield (
            f"a field of {many}",
            lambda many=many: told(f"struct S {{ uint8_t a[{many}]; int b; }}; use(sizeof(S) << 0);"),
        )
        yield (
            f"a struct of {2 * many}",
            lambda many=many: told(
                f"struct S {{ {' '.join(f'uint32_t a{n};' for n in range(2 * many))} }};"
                f" S s; use(sizeof(S) << 0, s.a{2 * many - 1});"
            ),
        )
    for many in (255, 256, 257):
        yield (
            f"{many} given",
            lambda many=many: told(
                f"int a[] = {{{', '.join(['1'] * many)}}}; int b[{many}] = {{1}};"
                f" use(a[{many - 1}] << 1, b[{many - 1}]);"
            ),
        )
    for deep in (1, 2, 3, 4, 5):
        loops = "".join(f"for (int i{n} = 0; i{n} < 1; ++i{n}) " for n in range(deep - 1))
        yield (
            f"turns of {deep} loops",
            lambda loops=loops: told(f"int t = 0; {loops}for (int k = 0; k < 20; ++k) t += 1; use(t << 0);"),
        )
        yield (
            f"open turns of {deep} loops",
            lambda loops=loops: told(f"int t = 0; {loops}for (int k = 0; k < n; ++k) t += 1; use(t << 0);"),
        )
        yield (
            f"endless turns of {deep} loops",
            lambda loops=loops: told(f"int t = 0; {loops}for (;;) t += 1; use(t << 0);"),
        )
        nested = "{" * deep + "1" + "}" * deep
        yield f"an array {deep} deep", lambda nested=nested: told(f"use({nested}, 1 << 0); auto a = {nested}; use(a);")
        inner = "".join(f"struct S{n + 1} {{ S{n} s; half* p; }};" for n in range(deep))
        yield (
            f"objects {deep} deep",
            lambda inner=inner, deep=deep: told(
                f"struct S0 {{ half* q; int v; }}; {inner} S{deep} a; a{'.s' * deep}.v = 1;"
                f" S{deep} b = a; a{'.s' * deep}.v = 2; use(b{'.s' * deep}.v << 0);"
            ),
        )
    for deep in (22, 23, 24, 25, 26):
        chain = "".join(f"int f{n}(int v) {{ return f{n - 1}(v + 1); }}" for n in range(1, deep))
        yield (
            f"{deep} calls deep",
            lambda chain=chain, deep=deep: told(f"int f0(int v) {{ return v << 0; }} {chain} use(f{deep - 1}(0));"),
        )
    for deep in (70, 78, 79, 80, 81):
        yield f"{deep} brackets", lambda deep=deep: told(f"use({'(' * deep}1 << 1{')' * deep});")
        yield f"{deep} blocks", lambda deep=deep: told(f"{'{' * deep}use(1 << 1);{'}' * deep}")
    for bits in (4095, 4096, 4097):
        yield f"{bits} bits", lambda bits=bits: told(f"import desc\nuse(1 << {bits}, 1 << {bits - 1})\n")
    for power in (63, 64, 65):
        yield (
            f"power {power}",
            lambda power=power: told(
                f"import desc\nuse(2 ** {power}, (2 ** 64) ** 2, (2 ** 64 + 1) ** 2, (-2 ** 64) ** 1)\n"
            ),
        )
