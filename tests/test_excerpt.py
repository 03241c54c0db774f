"""The code of an article: the blocks of Markdown, and what stands in place of a `...`. No place moves."""

from __future__ import annotations

import time

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.naming.header_names import find_fields_union
from lanescope.reader.grammars.excerpt import extract_code
from lanescope.reader.grammars.pasted_text import clean_text
from tests.cases import for_each

KERNEL = "__global__ void f(int n)\n{\n  int a = 1;\n  ...\n}\n"


def excerpt_code(text: str) -> str:
    made = extract_code(text, text)
    assert len(made) == len(text) or (len(made) > len(text) and made.rstrip("}") == made[: len(text)].rstrip("}"))
    return made


def squeeze_text(text: str) -> str:
    return " ".join(text.split())


@for_each("dots", ["...", "....", "…", "// ...", "//...", "... ;", "  ..."])
def test_a_function_goes_on_with_the_statements_behind_it(dots: str) -> None:
    text = KERNEL.replace("  ...", dots) + "a = 2;\nif (a) {\n  g(a);\n}\n"
    assert squeeze_text(excerpt_code(text)) == "__global__ void f(int n) { int a = 1; a = 2; if (a) { g(a); }}"


def test_a_line_keeps_its_place() -> None:
    text = KERNEL + "a = 2;\n"
    assert excerpt_code(text).index("a = 2") == text.index("a = 2")


def test_dots_in_the_middle_leave_the_function_as_it_is() -> None:
    text = "void f() {\n  ...\n  a = 1;\n}\nb = 2;\n"
    assert squeeze_text(excerpt_code(text)) == "void f() { a = 1; } b = 2;"


def test_a_namespace_around_the_function_is_closed_behind_it() -> None:
    text = "namespace n {\n" + KERNEL + "}\na = 2;\n\n"
    assert squeeze_text(excerpt_code(text)) == "namespace n { __global__ void f(int n) { int a = 1; a = 2;}}"


@for_each(
    "behind",
    [
        "struct S { int a; };\n",  # no statement
        "int main() { f<<<1, 128>>>(1); }\n",  # another entry
        "template <int N>\n__global__ void g() { h(); }\n",
        "f<<<1, 128>>>(1);\n",  # the host's
        "cudaDeviceSynchronize();\n",
        "inline int help(int x) { return x; }\n",
        "#define N 4\n",
    ],
)
def test_what_is_no_statement_of_the_function_stays_outside(behind: str) -> None:
    assert squeeze_text(excerpt_code(KERNEL + behind)) == squeeze_text(KERNEL.replace("...", "") + behind)


def test_a_function_between_the_statements_is_passed_over() -> None:
    text = KERNEL + "a = 2;\n__device__ int help(int x) { return x; }\na = help(a);\nint main() { return 0; }\n"
    assert squeeze_text(excerpt_code(text)).endswith("a = help(a);}int main() { return 0; }")


def test_templates_and_variadic_functions_keep_their_dots() -> None:
    text = "template <class... T> void f(T... x) { g(x...); }\nint printf(const char*, ...);\n"
    text += "void h() { try {} catch (...) {} }\n"
    assert excerpt_code(text) == text


def test_python_keeps_its_dots() -> None:
    text = "def f():\n    ...\n\ndef g():\n    return 1\n"
    assert excerpt_code(text) == text


MARKDOWN = "Here x = 1;\n\n```cpp\nint a;\n```\nand {that}:\n\n~\n```cuda title=x\na = 2;\n```\nbye;\n"


def test_prose_is_no_code_though_it_looks_like_it() -> None:
    assert squeeze_text(excerpt_code(MARKDOWN)) == "int a; a = 2;"


def test_a_paste_may_begin_inside_a_block() -> None:
    assert squeeze_text(excerpt_code(MARKDOWN.partition("```cpp\n")[2])) == "int a; a = 2;"
    assert squeeze_text(excerpt_code(MARKDOWN.rpartition("```")[0])) == "int a; a = 2;"


def test_blocks_of_other_languages_are_left_out() -> None:
    text = "```bash\nnvcc -o a a.cu; ./a\n```\n```python\nx = f(1)\n```\n" + MARKDOWN
    assert squeeze_text(excerpt_code(text)) == "int a; a = 2;"
    assert squeeze_text(excerpt_code("```bash\nnvcc a.cu;\n```\n```python\nx = f(1)\n```\n")) == "x = f(1)"


def test_a_quote_has_blocks_as_well() -> None:
    text = "".join(f"> {line}\n" for line in MARKDOWN.splitlines())
    assert squeeze_text(extract_code(text, clean_text(text, places=True))) == "int a; a = 2;"


def test_markdown_without_code_in_its_blocks_is_left_as_it_is() -> None:
    text = "```\n0x4000004000010100\n```\nword = 1;\n"
    assert excerpt_code(text) == text


# types that the text does not have -----------------------------------------------------------------------------------


def find_foreign_names(text: str) -> dict[str, str]:
    """Type or object that a text does not define → the union of CUTLASS whose members it has."""
    found = evaluate_text(text)
    return dict(found.assumed_unions) if found is not None else {}


@for_each("declared", ["Desc d;", "Desc d{};", "Desc d = {};", "ns::Desc d;"])
def test_an_object_with_cutlass_members_has_cutlass_type(declared: str) -> None:
    body = f"{declared} d.bitfield.layout_type_ = 1; d.bitfield.stride_byte_offset_ = 64;"
    text = f"uint64_t f() {{ {body} return d.raw; }}"
    assert list(find_foreign_names(text).values()) == ["GmmaDescriptor"]


def test_tcgen05s_union_is_known_by_its_own_fields() -> None:
    text = "uint64_t f() { Desc d; d.version_ = 1; d.stride_byte_offset_ = 64; return d.desc_; }"
    assert find_foreign_names(text) == {"Desc": "SmemDescriptor"}


@for_each(
    "text",
    [
        "union Desc { int a; }; Desc d; d.bitfield.stride_byte_offset_ = 1;",
        "using Desc = Other; Desc d; d.bits.layout = 1;",
        "GmmaDescriptor d; d.bitfield.stride_byte_offset_ = 1;",
        "Desc d; d.bits.layout = 1;",
    ],
)
def test_what_the_text_says_itself_is_not_taken(text: str) -> None:
    assert find_foreign_names(f"void f() {{ {text} }}") == {}


@for_each(
    "text",
    [
        "{\n..." + "/" * 60_000 + "\n}",
        "{\n..." + " " * 60_000 + "x",
        ("{\n...\n}\n" * 6_000) + "a = 1;",
        "a" * 60_000 + ".bitfield.layout_type_ = 1;",
        "struct " * 9_000 + "Desc d; d.bitfield.layout_type_ = 1;",
        "Desc" + " " * 60_000 + "d; d.bitfield.layout_type_ = 1;",
        "```\n" * 15_000,
        "x(" * 30_000 + "...",
    ],
    ids=range(8),
)
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    extract_code(text, text)
    find_fields_union(text)
    assert time.process_time() - begin < 2
