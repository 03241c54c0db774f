"""`lanescope lsp` as editors run it: the real process, driven through the protocol."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from lanescope.app.check.config import CheckSettings
from lanescope.app.kit.extras import EXTRAS
from lanescope.app.lsp.analysis import analyse_document
from lanescope.app.lsp.diagnostics import ProblemBoard
from lanescope.app.lsp.documents import DocumentStore, OpenDocument, PlacedText
from lanescope.app.lsp.settings import EditorSettings, parse_settings
from lanescope.errors import LayoutError
from lanescope.workbench.results import LONGEST
from tests.guilty_kernels import RIGHT, plant
from tests.integrations.lsp_editor import COMMAND, Editor, apply_edit, find_position, find_range
from tests.release import ROOT

WRONG = plant(("(1024 >>", "(512 >>"))
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    root = tmp_path_factory.mktemp("workspace")
    running = Editor(root)
    yield running
    assert running.close() == 0


def test_a_mistake_is_shown_where_it_is_made_with_its_rule_and_the_reads_that_follow(editor: Editor) -> None:
    uri = editor.open("wrong.cu", WRONG)
    (problem,) = editor.wait_for_problems(uri)
    assert problem.range == find_range(WRONG, "512")
    assert (problem.code, problem.severity) == ("sbo_other_width", types.DiagnosticSeverity.Error)
    assert problem.code_description is not None
    assert problem.code_description.href == "http://127.0.0.1:8000/guide/check-rules#sbo_other_width"
    assert [(one.location.uri, one.location.range) for one in problem.related_information or ()] == [
        (uri, find_range(WRONG, "desc_a = make_smem_desc(sA + k * 16)")),
        (uri, find_range(WRONG, WGMMA)),
    ]


# places ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_count_utf_16_units(editor: Editor, end: str) -> None:
    """Before the number stand characters of one, two and three bytes, and two beyond the basic plane."""
    text = plant(("d |= (uint64_t)(1024 >> 4)", "/* é 描述 𝔻🧮 */ d |= (uint64_t)(512 >> 4)"))
    uri = editor.open(f"units{len(end)}.cu", text.replace("\n", end))
    (problem,) = editor.wait_for_problems(uri)
    assert problem.range == find_range(text, "512")


def test_changes_of_ranges_leave_what_the_editor_has(editor: Editor) -> None:
    """A form feed and U+2028 end no line, a column past a line's end is its end, and both surrogates are one letter."""
    text = "// \f \u2028 𝔻\n" + WRONG
    uri = editor.open("ranges.cu", text)
    (problem,) = editor.wait_for_problems(uri)
    last = find_position(text, "}\n}\n")
    changes = (
        (types.Range(types.Position(0, 7), types.Position(0, 999)), "line"),
        (types.Range(last, types.Position(999, 0)), "}\n}"),
        (problem.range, "1024"),
    )
    editor.change(uri, *changes)
    assert not editor.wait_for_problems(uri)
    editor.change(
        uri, (types.Range(problem.range.start, types.Position(problem.range.start.line, 999)), "512 >> 4) << 32;")
    )
    (again,) = editor.wait_for_problems(uri)
    assert again.range == problem.range


# while typing ---------------------------------------------------------------------------------------------------------


def test_of_several_changes_the_last_one_is_checked(editor: Editor) -> None:
    uri = editor.open("typed.cu", RIGHT)
    assert not editor.wait_for_problems(uri)
    before, place = len(editor.published), find_range(RIGHT, "1024 >>")
    for number in ("1", "12", "128", "512"):
        editor.change(uri, (place, f"{number} >>"))
        place = types.Range(place.start, types.Position(place.start.line, place.start.character + len(number) + 3))
    (problem,) = editor.wait_for_problems(uri, before)
    assert problem.range == types.Range(place.start, types.Position(place.start.line, place.start.character + 3))
    assert [one.version for one in editor.published[before:] if one.uri == uri] == [5]


def test_a_document_that_is_closed_while_it_is_checked_shows_nothing(editor: Editor) -> None:
    uri = editor.open("closed.cu", WRONG)
    before = len(editor.published)
    editor.close_document(uri)
    after = editor.open("after.cu", WRONG)
    editor.wait_for_problems(after)
    assert all(not one.diagnostics for one in editor.published[before:] if one.uri == uri)


@pytest.mark.parametrize("text", ["", "\x00", "template <((((", "}" * 2000, "(" * 5000, "\ud800x\udc00𝔻"])
def test_a_text_that_is_no_program_has_no_problem(editor: Editor, text: str) -> None:
    uri = editor.open(f"broken{abs(hash(text))}.cu", text)
    assert all(one.severity != types.DiagnosticSeverity.Error for one in editor.wait_for_problems(uri))
    assert editor.hover(uri, types.Position(0, 1)) is None


def test_a_text_that_is_too_long_is_said_not_to_be_checked(editor: Editor) -> None:
    uri = editor.open("long.cu", "// line\n" * (LONGEST // 8) + WRONG)
    (problem,) = editor.wait_for_problems(uri)
    assert problem.severity == types.DiagnosticSeverity.Information and "not checked" in problem.message


def test_an_open_header_stands_in_place_of_the_file(editor: Editor) -> None:
    """The problem is the header's; another text of it on the disk is not read."""
    helper = RIGHT.index("__device__"), RIGHT.index("__global__")
    header, rest = RIGHT[slice(*helper)], RIGHT[: helper[0]] + '#include "desc.cuh"\n' + RIGHT[helper[1] :]
    (editor.root / "desc.cuh").write_text(header)
    kernel = editor.open("including.cu", rest)
    assert not editor.wait_for_problems(kernel)
    wrong = header.replace("1024", "512")
    before = len(editor.published)
    opened = editor.open("desc.cuh", wrong)
    problem = editor.wait_for(lambda: _find_error(editor, opened, before))
    assert problem.range == find_range(wrong, "512")
    assert {one.location.uri for one in problem.related_information or ()} == {kernel}
    before = len(editor.published)
    editor.close_document(opened)
    assert editor.wait_for(lambda: [one for one in editor.published[before:] if one.uri == opened][-1:] or None)
    editor.wait_for_problems(kernel, before)
    assert not [one for one in editor.published[before:] if one.uri == opened][-1].diagnostics
    editor.wait_for(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered or None)
    before = len(editor.published)
    (editor.root / "desc.cuh").write_text(wrong)
    editor.tell_changed("desc.cuh")
    assert editor.wait_for(lambda: _find_error(editor, opened, before)).range == problem.range
    editor.close_document(kernel)


def test_a_header_that_is_not_on_the_disk_yet_is_read_once_it_is_opened(editor: Editor) -> None:
    helper = RIGHT.index("__device__"), RIGHT.index("__global__")
    kernel = editor.open("early.cu", RIGHT[: helper[0]] + '#include "late.cuh"\n' + RIGHT[helper[1] :])
    assert not editor.wait_for_problems(kernel)
    before = len(editor.published)
    header = editor.open("late.cuh", WRONG[helper[0] : WRONG.index("__global__")])
    assert editor.wait_for(lambda: _find_error(editor, header, before))
    editor.close_document(kernel)


def _find_error(editor: Editor, uri: str, since: int) -> types.Diagnostic | None:
    """Return an error that was shown in a document."""
    shown = (problem for one in editor.published[since:] if one.uri == uri for problem in one.diagnostics)
    return next((one for one in shown if one.severity == types.DiagnosticSeverity.Error), None)


# actions --------------------------------------------------------------------------------------------------------------


def test_the_repair_leaves_no_finding(editor: Editor) -> None:
    text = WRONG.replace("  d |= (uint64_t)(512", "  /* 𝔻 */ d |= (uint64_t)(512")
    uri = editor.open("repaired.cu", text)
    (problem,) = editor.wait_for_problems(uri)
    repair, ignore = editor.list_actions(uri, problem.range)
    assert (repair.title, repair.kind, repair.is_preferred) == (
        "Write 1024 instead of 512",
        types.CodeActionKind.QuickFix,
        True,
    )
    assert ignore.title == "Ignore sbo_other_width here" and not ignore.is_preferred
    assert repair.edit is not None
    mended = apply_edit(text, repair.edit, uri)
    assert mended == text.replace("512", "1024")
    editor.change(uri, (None, mended))
    assert not editor.wait_for_problems(uri)
    assert not editor.list_actions(uri, problem.range)


@pytest.mark.parametrize(
    "line",
    [
        "d |= (uint64_t)(512 >> 4) << 32;",
        "d |= (uint64_t)(512 >> 4) << 32;  // 𝔻: lanescope: ignore[lbo_unusual] why",
        "d |= (uint64_t)(512 >> 4) \\\n << 32;",
    ],
)
def test_the_comment_accepts_the_finding(editor: Editor, line: str) -> None:
    text = plant(("d |= (uint64_t)(1024 >> 4) << 32;", line))
    uri = editor.open(f"accepted{len(line)}.cu", text)
    (problem,) = editor.wait_for_problems(uri)
    assert not editor.list_actions(uri, problem.range, ["refactor"])
    ignore = editor.list_actions(uri, problem.range, ["quickfix"])[-1]
    assert ignore.edit is not None
    editor.change(uri, (None, apply_edit(text, ignore.edit, uri)))
    assert not editor.wait_for_problems(uri)


def test_in_a_string_of_python_the_comment_is_that_of_its_language(editor: Editor) -> None:
    text = 'ASM = """\n  mma.sync.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};\n"""\n'
    uri = editor.open("asm.py", text)
    (problem,) = editor.wait_for_problems(uri)
    (ignore,) = editor.list_actions(uri, problem.range)
    assert ignore.edit is not None
    ignored = apply_edit(text, ignore.edit, uri)
    assert ignored == text.replace(";\n", ";  // lanescope: ignore[ptxas_refuses]\n")
    editor.change(uri, (None, ignored))
    assert not editor.wait_for_problems(uri)


# hints ----------------------------------------------------------------------------------------------------------------

BUILDER = """
__device__ uint64_t make_desc(const void* p, int lbo, int sbo, int mode) {
  uint64_t a = __cvta_generic_to_shared(p);
  return ((a & 0x3FFFF) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | (uint64_t)mode << 62;
}
__global__ void kernel(const __grid_constant__ int n, int open) {
  extern __shared__ __align__(1024) char smem[];
  /* 𝔻 */ uint64_t desc_a = make_desc(smem, 16, 1024, 1);
  uint64_t desc_b = make_desc(smem + 32, 16, open, 2);
  uint64_t desc_c = make_desc(smem,
                              128, 256, 0);
  uint64_t desc_d = make_desc(smem, open, open, open);
}
"""


def test_hints_stand_behind_calls_with_the_known_fields(editor: Editor) -> None:
    uri = editor.open("hints.cu", BUILDER)
    assert editor.list_hints(uri) == [
        (*_find_end(BUILDER, "1024, 1)"), "LBO 16 B · SBO 1024 B · 128B"),
        (*_find_end(BUILDER, "open, 2)"), "LBO 16 B · 64B"),
        (*_find_end(BUILDER, "256, 0)"), "LBO 128 B · SBO 256 B · no swizzle"),
    ]
    assert editor.list_hints(uri, 3) == []


def _find_end(text: str, part: str) -> tuple[int, int]:
    end = find_range(text, part).end
    return end.line, end.character


# the documents --------------------------------------------------------------------------------------------------------

EDITORS = ROOT / "editors"
PAGE = (ROOT / "docs" / "editors.md").read_text("utf-8")


def test_the_editors_files_start_the_server_with_settings_that_it_takes() -> None:
    """And the page shows what is in them, and has a row for each setting."""
    code = json.loads((EDITORS / "vscode.json").read_text())
    helix = tomllib.loads((EDITORS / "helix.toml").read_text())["language-server"]["lanescope"]
    assert [code["glspc.server.command"], *code["glspc.server.commandArguments"]] == ["lanescope", "lsp"]
    assert [helix["command"], *helix["args"]] == ["lanescope", "lsp"]
    expected = EditorSettings(server="http://127.0.0.1:8000")
    assert parse_settings(code["glspc.server.initializationOptions"]) == expected == parse_settings(helix["config"])
    for name in ("vscode.json", "nvim.lua", "helix.toml", "emacs.el"):
        text = (EDITORS / name).read_text()
        blocks = re.findall(r"```\w+\n(.*?)```", PAGE.partition(f"(../editors/{name})")[2], re.S)
        assert blocks[0] in text and re.search(r'"lanescope",? "lsp"|\["lsp"\]', text), name
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.M) == [field.name for field in dataclasses.fields(EditorSettings)]


# settings and the process ---------------------------------------------------------------------------------------------


def test_settings_are_those_of_the_workspace_and_of_the_editor(tmp_path: Path) -> None:
    """lanescope.toml gives the value, excludes a folder and names the server; the editor's server stands over it."""
    (tmp_path / "lanescope.toml").write_text(
        'site = "http://docs.example"\nexclude = ["old"]\n[define]\nSTRIDE = 512\n', "utf-8"
    )
    text = plant(("(1024 >>", "(STRIDE >>"))
    editor = Editor(tmp_path, {"notes": True})
    uri, old = editor.open("k.cu", text), editor.open("old/k.cu", text)
    problems = editor.wait_for_problems(uri)
    error = next(one for one in problems if one.code == "sbo_other_width")
    assert error.code_description is not None and error.code_description.href.startswith("http://docs.example/guide/")
    assert types.DiagnosticSeverity.Hint in {one.severity for one in problems}
    before = len(editor.published)
    editor.configure({"server": "http://10.0.0.1:9", "picture": "svg", "define": {"STRIDE": 1024}})
    assert not editor.wait_for_problems(uri, before)
    shown = editor.hover(uri, find_position(text, WGMMA, 3))
    assert shown is not None and isinstance(shown.contents, types.MarkupContent)
    assert (
        "](data:image/svg+xml;base64," in shown.contents.value and "http://10.0.0.1:9/i/wgmma" in shown.contents.value
    )
    editor.configure({"servers": ""})
    editor.wait_for(lambda: editor.messages[:1] or None)
    assert "server" in editor.messages[0]
    assert not any(one.diagnostics for one in editor.published if one.uri == old)
    assert editor.close() == 0


def test_a_document_that_is_excluded_loses_its_problems(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    uri = editor.open("k.cu", WRONG)
    assert editor.wait_for_problems(uri)
    before = len(editor.published)
    (tmp_path / "lanescope.toml").write_text('exclude = ["*.cu"]\n', "utf-8")
    editor.tell_changed("lanescope.toml")
    assert not editor.wait_for_problems(uri, before)
    assert editor.close() == 0


@pytest.mark.parametrize(
    "given",
    [{"server": "ftp://x"}, {"server": "http://[x"}, {"define": {"BK": None}}, {"define": {"BK": True}}, {"notes": 1}],
)
def test_a_wrong_setting_is_refused_with_its_name(given: dict[str, object]) -> None:
    with pytest.raises(LayoutError) as refused:
        parse_settings(given)
    assert refused.value.message.startswith(f"lanescope.{next(iter(given))}")


def test_positions_count_what_the_editor_asks_for(tmp_path: Path) -> None:
    text = plant(("  d |= (uint64_t)(1024 >> 4)", "/*é𝔻*/d |= (uint64_t)(512 >> 4)"))
    editor = Editor(tmp_path, encoding="utf-8")
    assert editor.capabilities.position_encoding == types.PositionEncodingKind.Utf8
    uri = editor.open("k.cu", text)
    (problem,) = editor.wait_for_problems(uri)
    first = len("/*é𝔻*/d |= (uint64_t)(".encode())
    assert (problem.range.start.character, problem.range.end.character) == (first, first + 3)
    editor.change(uri, (problem.range, "1024"))
    assert not editor.wait_for_problems(uri)
    assert editor.close() == 0


def test_a_check_that_is_no_longer_wanted_ends_without_findings() -> None:
    document = OpenDocument("file:///k.cu", "/k.cu", 1, PlacedText(WRONG))
    opened = {document.name: document}
    assert analyse_document(document, opened, CheckSettings(), Path("/")).findings
    assert not analyse_document(document, opened, CheckSettings(), Path("/"), lambda: True).findings


def test_every_module_of_a_python_file_is_checked() -> None:
    kernel = '__global__ void f() { asm("wgmma.comit_group.sync.aligned;"); }\nvoid g() { f<<<1, 32>>>(); }'
    text = f'a = r"""{kernel}"""\nb = r"""{kernel}"""\n'
    document = OpenDocument("file:///k.py", "/k.py", 1, PlacedText(text))
    found = analyse_document(document, {document.name: document}, CheckSettings(), Path("/")).findings
    assert [one.place.line for one in found] == [1, 3]


def test_what_was_found_in_another_version_is_not_shown() -> None:
    store = DocumentStore()
    document = store.open(types.TextDocumentItem("file:///k.cu", "cuda-cpp", 1, WRONG))
    board = ProblemBoard(store)
    assert board.put(analyse_document(document, store.snapshot(), CheckSettings(), Path("/"))) == {document.name}
    assert [one.shown.code for one in board.list_problems(document.name, "", False)] == ["sbo_other_width"]
    identifier = types.VersionedTextDocumentIdentifier(version=2, uri=document.uri)
    change = types.TextDocumentContentChangeWholeDocument(RIGHT)
    store.change(types.DidChangeTextDocumentParams(identifier, [change]))
    assert not board.list_problems(document.name, "", False)
    assert board.is_stale(document.name) and board.find_current(document.name) is None


def test_an_end_without_shutdown_is_a_failure_and_nothing_else_is_printed(tmp_path: Path) -> None:
    exit_alone = b'{"jsonrpc":"2.0","method":"exit"}'
    message = b"Content-Length: %d\r\n\r\n%s" % (len(exit_alone), exit_alone)
    for sent in (message, b""):
        done = subprocess.run(COMMAND, input=sent, capture_output=True, cwd=tmp_path, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (1, b"")


def test_without_its_extra_the_command_names_it() -> None:
    hidden = "import sys; sys.modules['pygls'] = None; from lanescope.app.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", hidden, "lsp"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'lanescope[lsp]'" in done.stderr


def test_it_needs_no_other_extra() -> None:
    """Everything that the handlers use is imported, and a hover of each kind written, without a module of `web`."""
    hidden = (
        f"import sys; sys.modules |= dict.fromkeys({EXTRAS['web'] + EXTRAS['pictures']!r});"
        " from lanescope.app.lsp import handlers, hover; hover.warm_up()"
    )
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
