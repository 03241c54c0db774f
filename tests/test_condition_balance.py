"""Conditions of the preprocessor that a file does not close, or closes twice."""

from __future__ import annotations

from pathlib import Path

from lanescope.app.check.checking import check_files
from lanescope.workbench.source.condition_balance import find_unbalanced_conditions
from tests.cases import for_each
from tests.checked import check_text


def list_messages(text: str) -> list[tuple[int, str]]:
    """Return (line, message up to its reason) of each finding."""
    found = find_unbalanced_conditions(text)
    return [(text.count("\n", 0, one.span[0]) + 1, one.message.partition(":")[0]) for one in found]


@for_each(
    ("text", "expected"),
    [
        ("int a;\n#ifdef FAST\nint b;\n", [(2, "#ifdef FAST has no #endif")]),
        ("#ifndef A_H\n#define A_H\n#if X\n#endif\n", [(1, "#ifndef A_H has no #endif")]),
        ("#if A > 1 && \\\n    B\nint a;", [(1, "#if A > 1 && B has no #endif")]),
        ("int a;\n#endif\n", [(2, "#endif has no #if")]),
        ("#if A\n#endif\n  #  endif // A\n", [(3, "#endif has no #if")]),
        ("#else\nint a;\n#endif\n", [(1, "#else has no #if"), (3, "#endif has no #if")]),
        ("int a;\n#elif B\n", [(2, "#elif B has no #if")]),
        ("#if A\n#else\n#else\n#endif\n", [(3, "#else follows the #else of its #if")]),
        ("#if A\n#if B\n", [(1, "#if A has no #endif"), (2, "#if B has no #endif")]),
    ],
)
def test_an_unbalanced_condition_is_found_at_its_line(text: str, expected: list[tuple[int, str]]) -> None:
    assert list_messages(text) == expected


@for_each(
    "text",
    [
        "#ifdef A\n#elif B\n#elifdef C\n#else\n#endif\n",
        "// #if A\n/*\n#endif\n*/\nint a;\n",
        'const char* s = R"(\n#if A\n)";\nconst char* t = "#endif";\n',
        "#define IF \\\n  #if A\nint a;\n",
        "#if 0\nIt doesn't matter\n#endif\n#error don't\n",
        "#pragma endif\n#include <if>\n",
        "import torch\n\ndef f(x):\n    # if A\n    return x  # endif\n",
        "Text:\n\n```cpp\n#if A\n```\n",
        "# ifconfig\n",
        "#!/bin/sh\n# if\nnvcc a.cu\n",
        "# if you use nvcc\nalias: nvcc\n",
        "--- a.cu\n+++ b.cu\n@@ -1,2 +1,2 @@\n #if A\n-int a;\n+int b;\n",
        "import os\n\nFILES = [\n    #if we open it, it hangs\n    'io.py',\n]\n",
    ],
)
def test_a_balanced_file_and_what_is_no_directive_have_no_finding(text: str) -> None:
    assert list_messages(text) == []


def test_it_is_an_error_of_the_check() -> None:
    (finding,) = check_text("__global__ void f() {}\n#ifdef FAST\n").findings
    assert (finding.code, finding.level) == ("condition_unbalanced", "error")


def test_a_file_of_printed_text_may_end_anywhere(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("int a;\n#ifdef FAST\nint b;\n")
    assert not check_files([tmp_path / "log.txt"]).findings


def test_every_file_is_balanced_by_itself(tmp_path: Path) -> None:
    """The header's #if is not closed by the file that includes it: two errors, each in its own file."""
    (tmp_path / "begin.cuh").write_text("int b;\n#if X\n")
    main = tmp_path / "main.cu"
    main.write_text('int a;\n#include "begin.cuh"\nint c;\n#endif\n')
    places = [(Path(one.place.file).name, one.place.line) for one in check_files([main]).findings]
    assert sorted(places) == [("begin.cuh", 2), ("main.cu", 4)]
