"""An editor without a screen: it starts `lanescope lsp` and speaks with it through pytest-lsp's client."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities

COMMAND = (sys.executable, "-m", "lanescope.app.cli", "lsp")
SECONDS = 60.0  # that an answer may take on a busy machine
Result = TypeVar("Result")


class Editor:
    """A running server, and what it has sent. published: every set of problems, in its order."""

    def __init__(
        self,
        root: Path,
        settings: Mapping[str, Any] | None = None,
        encoding: str = "",
        command: Sequence[str] = COMMAND,
    ):
        """settings: sent with the first message; encoding: of positions, where the editor names one."""
        self.root, self.settings = root, dict[str, Any]()
        self._options, self._encoding, self._command = settings, encoding, command
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.versions: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._news = asyncio.Event()
        self._client = LanguageClient(converter_factory=default_converter)
        self._listen()
        self.capabilities = self._run(self._start(client_capabilities("visual_studio_code")))

    def _listen(self) -> None:
        @self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self._news.set()

        @self._client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @self._client.feature(types.WORKSPACE_CONFIGURATION)
        def configure(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings for _ in params.items]

        @self._client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += [one.method for one in params.registrations]
            self._news.set()

        @self._client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(params: None) -> None:
            return None

    async def _start(self, capabilities: types.ClientCapabilities) -> types.ServerCapabilities:
        if self._encoding:
            kinds = [types.PositionEncodingKind(self._encoding)]
            capabilities.general = types.GeneralClientCapabilities(position_encodings=kinds)
        await self._client.start_io(*self._command)
        self._client.capabilities = capabilities
        folder = types.WorkspaceFolder(uri=self.root.as_uri(), name=self.root.name)
        params = types.InitializeParams(
            capabilities=capabilities, workspace_folders=[folder], initialization_options=self._options
        )
        answer = await self._client.initialize_async(params)
        self._client.initialized(types.InitializedParams())
        return answer.capabilities

    def _run(self, what: Awaitable[Result]) -> Result:
        return self._loop.run_until_complete(asyncio.wait_for(what, SECONDS))

    def close(self) -> int:
        """Shut the server down; return its exit status."""

        async def leave() -> int:
            await self._client.shutdown_async(None)
            self._client.exit(None)
            process = self._client._server
            assert process is not None
            status = await process.wait()
            await self._client.stop()
            return status

        status = self._run(leave())
        self._loop.close()
        return status

    # documents --------------------------------------------------------------------------------------------------------

    def link(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str) -> str:
        """Open a document with a text that need not be on the disk; return its URI."""
        uri = self.link(name)
        self.versions[uri] = 1
        language = {"py": "python", "ptx": "ptx"}.get(name.rpartition(".")[2], "cuda-cpp")
        item = types.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, *changes: tuple[types.Range | None, str]) -> None:
        """Change a range, or all of a document for None."""
        self.versions[uri] += 1
        events = [
            types.TextDocumentContentChangeWholeDocument(text)
            if place is None
            else types.TextDocumentContentChangePartial(range=place, text=text)
            for place, text in changes
        ]
        identifier = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, events))

    def close_document(self, uri: str) -> None:
        self._client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def tell_changed(self, name: str) -> None:
        """Tell that a file has changed on the disk."""
        event = types.FileEvent(uri=self.link(name), type=types.FileChangeType.Changed)
        self._client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Change the settings, as an editor tells it."""
        self.settings = dict(settings)
        self._client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"lanescope": settings}))

    # answers ----------------------------------------------------------------------------------------------------------

    def wait_for(self, holds: Callable[[], Result | None]) -> Result:
        """Return the first value that is not None, asked again whenever the server sends something."""

        async def wait() -> Result:
            while (value := holds()) is None:
                self._news.clear()
                await self._news.wait()
            return value

        return self._run(wait())

    def wait_for_problems(self, uri: str, since: int = 0) -> Sequence[types.Diagnostic]:
        """Return the problems of a document's current version. since: how many sets were there before."""

        def find() -> Sequence[types.Diagnostic] | None:
            return next(
                (
                    one.diagnostics
                    for one in self.published[since:]
                    if one.uri == uri and one.version == self.versions.get(uri)
                ),
                None,
            )

        return self.wait_for(find)

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        return self._run(
            self._client.text_document_hover_async(
                types.HoverParams(text_document=types.TextDocumentIdentifier(uri), position=position)
            )
        )

    def list_actions(self, uri: str, place: types.Range, only: Sequence[str] | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext(diagnostics=[], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        answer = self._run(self._client.text_document_code_action_async(params))
        return [one for one in answer or () if isinstance(one, types.CodeAction)]

    def list_hints(self, uri: str, lines: int = 1000) -> list[tuple[int, int, str]]:
        """List (line, column, label) of the hints of a document's first lines."""
        place = types.Range(types.Position(0, 0), types.Position(lines, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), place)
        answer = self._run(self._client.text_document_inlay_hint_async(params)) or ()
        return [(one.position.line, one.position.character, str(one.label)) for one in answer]


def find_position(text: str, part: str, skip: int = 0) -> types.Position:
    """Return the position of a part of a text in UTF-16 units, `skip` units behind its begin."""
    before = text[: text.index(part)]
    line = before.count("\n")
    column = before.rpartition("\n")[2]
    return types.Position(line, len(column.encode("utf-16-le")) // 2 + skip)


def find_range(text: str, part: str) -> types.Range:
    """Return the range of the first occurrence of a part of one line, in UTF-16 units."""
    return types.Range(find_position(text, part), find_position(text, part, len(part.encode("utf-16-le")) // 2))


def apply_edit(text: str, edit: types.WorkspaceEdit, uri: str) -> str:
    """Apply an edit of one document as an editor does: UTF-16 columns, the last range first."""
    edits: list[types.TextEdit] = []
    for change in edit.document_changes or ():
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri
        edits += [one for one in change.edits if isinstance(one, types.TextEdit)]
    edits += (edit.changes or {}).get(uri, ())
    units = text.encode("utf-16-le")
    lines = [0]
    for at in range(0, len(units), 2):
        if units[at : at + 2] == b"\n\0":
            lines.append(at + 2)

    def locate(place: types.Position) -> int:
        return lines[place.line] + 2 * place.character

    for one in sorted(edits, key=lambda one: locate(one.range.start), reverse=True):
        units = units[: locate(one.range.start)] + one.new_text.encode("utf-16-le") + units[locate(one.range.end) :]
    return units.decode("utf-16-le")
