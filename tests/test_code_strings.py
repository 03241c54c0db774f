"""Modules of CUDA code in the strings of a Python file are checked as compilers get them."""

from __future__ import annotations

from pathlib import Path

from lanescope.app.check.checking import check_files
from lanescope.cxx.code_strings import list_module_texts
from tests.cases import for_each

KERNEL = "__global__ void __launch_bounds__(32) f() {}"
LAUNCH = "void g() { f<<<1, 32>>>(); }"


@for_each(
    ("text", "modules"),
    [
        (f"a = r'''\n{KERNEL}\n{LAUNCH}\n'''\n", [f"{KERNEL} {LAUNCH}"]),
        (
            f'a = """\n#include <b.h>\n"""\nc = """\n{KERNEL}\n{LAUNCH}\n"""  # "\ntext = """f is fast."""\n',
            [f"#include <b.h> {KERNEL} {LAUNCH}"],
        ),
        (
            f'a = """\n#include <b.h>\n"""\nb = """\n{KERNEL}\n{LAUNCH} // 1\n"""\nc = """{KERNEL}\n{LAUNCH} // 2\n"""',
            [f"#include <b.h> {KERNEL} {LAUNCH} // 1", f"#include <b.h> {KERNEL} {LAUNCH} // 2"],
        ),
        (f'a = f"""\n{KERNEL}\n{LAUNCH}\n"""\n', []),  # filled in by Python
        (f'a = """\n{KERNEL}\n"""\n', []),  # launched by Python
        (f'a = """\n{KERNEL}\n{LAUNCH}\n"""\n@triton.jit\ndef f(): pass\n', []),
    ],
)
def test_modules_are_the_strings_that_compilers_get(text: str, modules: list[str]) -> None:
    found = list_module_texts(text)
    assert [" ".join(module.split()) for module in found] == modules
    assert {len(module) for module in found} <= {len(text)}


def test_strings_that_are_not_raw_are_unescaped() -> None:
    text = f"a = '''{KERNEL}\n{LAUNCH} // 0;\\\\n'''"
    assert [module.split("//")[1] for module in list_module_texts(text)] == [" 0; \\n   "]
    assert [module.split("//")[1] for module in list_module_texts(text.replace("= ", "= r"))] == [" 0;\\\\n   "]


def test_each_module_is_checked_at_its_place(tmp_path: Path) -> None:
    wrong = KERNEL.replace("{}", '{ asm("wgmma.comit_group.sync.aligned;"); }')
    text = f'f = 7  # of Python\nfirst = r"""\n{KERNEL}{LAUNCH}"""\nsecond = r"""\n{wrong}{LAUNCH}"""\n'
    file = tmp_path / "modules.py"
    file.write_text(text, encoding="utf-8")
    report = check_files([file])
    assert (report.files, [finding.place.line for finding in report.findings]) == (1, [5])
