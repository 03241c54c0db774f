"""`lanescope lsp`: the language server protocol over standard input and output, by pygls.

Documents are checked in threads, 0.3 s after the last change; a change ends the check of the previous
version. Everything else is answered from the check of the current version, never from an older one.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from lanescope.app.check.config import CheckSettings, find_settings
from lanescope.app.kit.settings import LOCAL_SITE
from lanescope.app.lsp import hover
from lanescope.app.lsp.analysis import Analysis, analyse_document, is_checked
from lanescope.app.lsp.diagnostics import Problem, ProblemBoard
from lanescope.app.lsp.documents import DocumentStore, OpenDocument
from lanescope.app.lsp.settings import EditorSettings, parse_settings
from lanescope.errors import LayoutError

Result = TypeVar("Result")
COUNT = 2
DELAY = 0.3  # seconds without a change before a document is checked
WATCHED = ("**/{lanescope,pyproject}.toml", "**/compile_commands.json", "**/*.{h,hh,hpp,hxx,cuh,inc,inl}")
LOG = logging.getLogger("lanescope")


class Workers:
    """A few daemon threads with one queue."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        for _ in range(COUNT):
            threading.Thread(target=self._work, daemon=True, name="lanescope-lsp").start()

    def submit(self, make: Callable[[], Result]) -> Future[Result]:
        """Compute in one of the threads; a future that is cancelled before it begins is not computed."""
        future: Future[Result] = Future()
        self._jobs.put((future, make))
        return future

    def _work(self) -> None:
        while True:
            future, make = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = make()
            except BaseException as error:  # OverdueError is not an Exception
                future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
            else:
                future.set_result(result)


class _Protocol(LanguageServerProtocol):
    """pygls's protocol without its own copies of documents, which documents.py has."""

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None


class LanescopeServer(LanguageServer):
    """The open documents, their problems, and the running checks: name → (task, event that ends it)."""

    def __init__(self) -> None:
        super().__init__("lanescope", importlib.metadata.version("lanescope"), protocol_cls=_Protocol)
        self.store = DocumentStore()
        self.board = ProblemBoard(self.store)
        self.settings = EditorSettings()
        self.workers = Workers()
        self.checks: dict[str, tuple[asyncio.Task[None], threading.Event]] = {}
        self.shown: set[str] = set()
        self.warm = asyncio.Event()  # what hovers need is read
        self.closing = False

    # checks -----------------------------------------------------------------------------------------------------------

    def find_root(self, document: OpenDocument) -> Path:
        """Return the innermost workspace folder of a document, otherwise its own folder."""
        uris = [*self.workspace.folders, *([self.workspace.root_uri] if self.workspace.root_uri else [])]
        roots = [Path(path) for path in map(to_fs_path, uris) if path]
        path = Path(document.name)
        enclosing = [root for root in roots if path.is_relative_to(root)]
        if enclosing:
            return max(enclosing, key=lambda root: len(root.parts))
        return path.parent if document.uri.startswith("file:") or not roots else roots[0]

    def read_settings(self, document: OpenDocument) -> tuple[CheckSettings, Path]:
        """Return the settings of a document's workspace, the editor's over them, and its root."""
        root = self.find_root(document)
        return self.settings.apply(find_settings(root), root), root

    def schedule(self, names: Iterable[str], delay: float = DELAY) -> None:
        """Check documents after a delay, and end their running checks."""
        for name in names:
            self.end_check(name)
            if name in self.store.documents and not self.closing:
                over = threading.Event()
                self.checks[name] = (asyncio.ensure_future(self._check(name, delay, over)), over)

    def schedule_all(self) -> None:
        """Check every open document again."""
        self.schedule(list(self.store.documents), 0)

    def end_check(self, name: str) -> None:
        """End the check of a document, if one is running."""
        if name in self.checks:
            task, over = self.checks.pop(name)
            over.set()
            task.cancel()

    async def _check(self, name: str, delay: float, over: threading.Event) -> None:
        await asyncio.sleep(delay)
        document, opened = self.store.documents[name], self.store.snapshot()
        analysis = Analysis(name=name, versions={name: document.version}, texts={name: document.placed})
        try:
            settings, root = self.read_settings(document)
            if is_checked(document, root, settings):
                future = self.workers.submit(lambda: analyse_document(document, opened, settings, root, over.is_set))
                analysis = await asyncio.wrap_future(future)
        except LayoutError as error:
            self.show_message(f"{error.message} {error.hint}")
        except Exception:
            LOG.exception("the check of %s failed", name)
        if not over.is_set():
            before = self.board.analyses.get(name)
            self.publish(self.board.put(analysis))
            if before is not None and before.builders != analysis.builders:
                self.refresh_hints()

    def publish(self, names: Iterable[str]) -> None:
        """Show the problems of files; those of a file whose check is running follow later."""
        for name in sorted(names):
            if self.board.is_stale(name):
                continue
            problems = self.list_problems(name)
            document = self.store.documents.get(name)
            if problems or document is not None or name in self.board.shown:
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(
                        uri=self.store.link(name),
                        diagnostics=[problem.shown for problem in problems],
                        version=document.version if document is not None else None,
                    )
                )
            (self.board.shown.add if problems else self.board.shown.discard)(name)

    def list_problems(self, name: str) -> list[Problem]:
        document = self.store.documents.get(name)
        return self.board.list_problems(name, self.find_site(document), self.settings.notes)

    def find_site(self, document: OpenDocument | None) -> str:
        """Return the address of the site for links."""
        try:
            return self.read_settings(document)[0].site if document is not None else self.settings.server or LOCAL_SITE
        except LayoutError:
            return self.settings.server or LOCAL_SITE

    async def wait_for_check(self, name: str) -> Analysis | None:
        """Wait for the check of a document and return its analysis; None if it has none."""
        while name in self.checks and not self.checks[name][0].done():
            await asyncio.wait({self.checks[name][0]})
        return self.board.find_current(name)

    # the editor -------------------------------------------------------------------------------------------------------

    def show_message(self, message: str) -> None:
        """Show a message, once."""
        if message not in self.shown:
            self.shown.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    def take_settings(self, value: object) -> None:
        """Apply the editor's settings; wrong ones are reported and change nothing."""
        try:
            self.settings = parse_settings(value)
        except LayoutError as error:
            self.show_message(f"{error.message} {error.hint}")

    async def pull_settings(self) -> None:
        """Request the settings from the editor, if it supports that."""
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            item = types.ConfigurationItem(section="lanescope")
            answers = await self.workspace_configuration_async(types.ConfigurationParams([item]))
            if answers and answers[0]:
                self.take_settings(answers[0])

    async def warm_up(self) -> None:
        """Preload the data of hovers in a thread."""
        await asyncio.wrap_future(self.workers.submit(hover.warm_up))
        self.warm.set()

    async def watch_files(self) -> None:
        """Register for changes of headers and settings on disk, if the editor supports that."""
        workspace = self.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is None or not watched.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions(
            [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        )
        registration = types.Registration("watched", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await self.client_register_capability_async(types.RegistrationParams([registration]))

    def refresh_hints(self) -> None:
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None, lambda _: None)

    def takes_versions(self) -> bool:
        """Return whether the editor supports edits with document versions."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)


def serve() -> int:
    """Serve until the editor disconnects; return the exit status of the protocol: 0 after a shutdown."""
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # anything else on standard output would not be a message
    from lanescope.app.lsp.handlers import register_handlers

    server = LanescopeServer()
    register_handlers(server)
    server.start_io(sys.stdin.buffer, protocol)
    return 0 if server.closing else 1
