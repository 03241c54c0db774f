"""Code actions for a finding: apply its repair, or add a comment that accepts it."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping

from lsprotocol import types

from lanescope.app.check.facts import CheckFinding, SourceEdit
from lanescope.app.check.suppress import find_ignore_comment
from lanescope.app.lsp.diagnostics import Problem
from lanescope.app.lsp.documents import DocumentStore, PlacedText

_PYTHON = (".py", ".pyi")


def list_actions(problems: Iterable[Problem], store: DocumentStore, versioned: bool) -> Iterator[types.CodeAction]:
    """List the code actions for problems: each finding's repair, then a comment that accepts it. versioned: whether the
    editor supports edits with document versions.
    """
    for problem in problems:
        finding = problem.finding
        if finding is None:
            continue
        texts = problem.analysis.texts
        if finding.edits and all(_is_current(edit.place.file, problem, store) for edit in finding.edits):
            edits = _group_edits(finding.edits, texts)
            yield _make_action(_name_repair(finding, texts), problem, _make_edit(edits, store, versioned), True)
        name = finding.place.file
        if comment := write_ignore_comment(texts[name], name, finding.place.line, finding.code):
            edit = _make_edit({name: [comment]}, store, versioned)
            yield _make_action(f"Ignore {finding.code} here", problem, edit, False)


def _is_current(name: str, problem: Problem, store: DocumentStore) -> bool:
    """Return whether the editor's text of a file is the one that was checked."""
    document = store.documents.get(name)
    return name in problem.analysis.texts and (
        document is None or document.version == problem.analysis.versions.get(name)
    )


def _group_edits(edits: Iterable[SourceEdit], texts: Mapping[str, PlacedText]) -> dict[str, list[types.TextEdit]]:
    grouped: dict[str, dict[SourceEdit, types.TextEdit]] = {}
    for edit in edits:
        placed = texts[edit.place.file]
        text_edit = types.TextEdit(
            range=placed.locate_span(edit.place), new_text=edit.text.replace("\n", placed.line_end)
        )
        if text_edit not in grouped.setdefault(edit.place.file, {}).values():
            grouped[edit.place.file][edit] = text_edit
    return {name: list(placed_edits.values()) for name, placed_edits in grouped.items()}


def _name_repair(finding: CheckFinding, texts: Mapping[str, PlacedText]) -> str:
    """Return the title of a repair: `Write 1024 instead of 512`."""
    written = ", ".join(dict.fromkeys(edit.text.strip() for edit in finding.edits))
    place = finding.edits[0].place
    if len(finding.edits) > 1 or place.line != place.end_line or not finding.edits[0].text.strip():
        return f"Repair {finding.code}: write {written}" if written else f"Repair {finding.code}"
    old = texts[place.file].get_line(place.line)[place.column - 1 : place.end_column - 1].strip()
    return f"Write {written} instead of {old}" if old else f"Write {written}"


def _make_action(title: str, problem: Problem, edit: types.WorkspaceEdit, preferred: bool) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[problem.shown],
        is_preferred=preferred or None,
        edit=edit,
    )


def _make_edit(edits: Mapping[str, list[types.TextEdit]], store: DocumentStore, versioned: bool) -> types.WorkspaceEdit:
    if not versioned:
        return types.WorkspaceEdit(changes={store.link(name): text_edits for name, text_edits in edits.items()})
    documents = []
    for name, text_edits in edits.items():
        document = store.documents.get(name)
        identifier = types.OptionalVersionedTextDocumentIdentifier(
            uri=store.link(name), version=document.version if document is not None else None
        )
        documents.append(types.TextDocumentEdit(text_document=identifier, edits=list(text_edits)))
    return types.WorkspaceEdit(document_changes=documents)


def write_ignore_comment(placed: PlacedText, name: str, line: int, code: str) -> types.TextEdit | None:
    """Write the comment that accepts a code in a line, from 1: in an existing comment, at the end of the line, or
    before its trailing backslash; None if the line cannot have one.
    """
    text = placed.get_line(line)
    if (there := find_ignore_comment(text)) is not None:
        codes, end = there
        return _insert(placed, line, end, f", {code}" if codes else code)
    body = text.rstrip()
    comment = f"lanescope: ignore[{code}]"
    if name.endswith(_PYTHON) and not _is_in_string(placed.plain, line):
        return None if body.endswith("\\") else _insert(placed, line, len(body), f"  # {comment}")
    if body.endswith("\\"):
        return _insert(placed, line, len(body) - 1, f"/* {comment} */ ")
    return _insert(placed, line, len(body), f"  // {comment}")


def _insert(placed: PlacedText, line: int, column: int, text: str) -> types.TextEdit:
    """Insert a text into a line after its first `column` characters."""
    position = placed.locate(line, column + 1)
    return types.TextEdit(range=types.Range(position, position), new_text=text)


def _is_in_string(text: str, line: int) -> bool:
    """Return whether a line of Python ends within a string, which contains a kernel's source in C++ or PTX."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and token.start[0] <= line < token.end[0]:
                return True
    except (tokenize.TokenError, SyntaxError):
        return False
    return False
