"""The requests and notifications of the editor, one function each."""

from __future__ import annotations

import asyncio
import logging

from lsprotocol import types

from lanescope.app.lsp import hover
from lanescope.app.lsp.actions import list_actions
from lanescope.app.lsp.hints import list_hints
from lanescope.app.lsp.server import LanescopeServer

LOG = logging.getLogger("lanescope")
_FIX = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])


def initialize(server: LanescopeServer, params: types.InitializeParams) -> None:
    """Store the units of positions, and the settings of the first message."""
    server.store.encoding = types.PositionEncodingKind(server.workspace.position_codec.encoding or "utf-16").value
    server.take_settings(params.initialization_options)


async def initialized(server: LanescopeServer, params: types.InitializedParams) -> None:
    """Preload the data of hovers, and request the settings."""
    warming = asyncio.ensure_future(server.warm_up())
    await server.pull_settings()
    server.schedule_all()
    await server.watch_files()
    await warming


def shut_down(server: LanescopeServer, params: None) -> None:
    """End all checks."""
    server.closing = True
    for name in list(server.checks):
        server.end_check(name)


def did_open(server: LanescopeServer, params: types.DidOpenTextDocumentParams) -> None:
    """Check an opened document, and those that include it: its text replaces the file."""
    document = server.store.open(params.text_document)
    server.schedule([document.name, *server.board.find_including(document.name)], 0)


def did_change(server: LanescopeServer, params: types.DidChangeTextDocumentParams) -> None:
    """Check a changed document, and those that include it."""
    document = server.store.change(params)
    if document is not None:
        server.schedule([document.name, *server.board.find_including(document.name)])


def did_close(server: LanescopeServer, params: types.DidCloseTextDocumentParams) -> None:
    """Remove a closed document, and check those that include it with the file on disk."""
    document = server.store.close(params.text_document.uri)
    if document is not None:
        server.end_check(document.name)
        server.publish(server.board.drop(document.name))
        server.schedule(server.board.find_including(document.name), 0)


def did_save(server: LanescopeServer, params: types.DidSaveTextDocumentParams) -> None:
    """Do nothing: the text was checked when it was changed."""


def did_change_files(server: LanescopeServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Check all documents again, with headers and settings from disk."""
    server.schedule_all()


async def did_change_settings(server: LanescopeServer, params: types.DidChangeConfigurationParams) -> None:
    """Apply the settings of the message, or request them."""
    if params.settings:
        server.take_settings(params.settings)
    else:
        await server.pull_settings()
    server.schedule_all()


async def show_hover(server: LanescopeServer, params: types.HoverParams) -> types.Hover | None:
    """Return the hover at a position, None if there is none. An error in it is logged, not shown."""
    document = server.store.get(params.text_document.uri)
    if document is None:
        return None
    await server.warm.wait()
    try:
        analysis = server.board.find_current(document.name)
        return hover.describe_place(
            document, params.position, analysis, server.settings.picture, server.find_site(document)
        )
    except Exception:
        LOG.exception("the hover at %s of %s failed", params.position, document.name)
        return None


def offer_actions(server: LanescopeServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """List the code actions for the problems of a range."""
    document, only = server.store.get(params.text_document.uri), params.context.only
    if document is None or (only and not any(types.CodeActionKind.QuickFix.value.startswith(kind) for kind in only)):
        return []
    problems = [
        problem for problem in server.list_problems(document.name) if _touches(problem.shown.range, params.range)
    ]
    return list(list_actions(problems, server.store, server.takes_versions()))


def _touches(first: types.Range, second: types.Range) -> bool:
    """Return whether two ranges overlap or touch."""
    return first.start <= second.end and second.start <= first.end


async def offer_hints(server: LanescopeServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    """List the hints of a range, once the document is checked."""
    document = server.store.get(params.text_document.uri)
    analysis = await server.wait_for_check(document.name) if document is not None else None
    return list(list_hints(analysis, params.range)) if analysis is not None else []


def register_handlers(server: LanescopeServer) -> None:
    """Register the functions above at the server."""
    for name, handler in (
        (types.INITIALIZE, initialize),
        (types.INITIALIZED, initialized),
        (types.SHUTDOWN, shut_down),
        (types.TEXT_DOCUMENT_DID_OPEN, did_open),
        (types.TEXT_DOCUMENT_DID_CHANGE, did_change),
        (types.TEXT_DOCUMENT_DID_CLOSE, did_close),
        (types.TEXT_DOCUMENT_DID_SAVE, did_save),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, did_change_files),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, did_change_settings),
        (types.TEXT_DOCUMENT_HOVER, show_hover),
        (types.TEXT_DOCUMENT_INLAY_HINT, offer_hints),
    ):
        server.feature(name)(handler)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, _FIX)(offer_actions)
