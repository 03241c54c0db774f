"""The command line in this process: what `lanescope WORDS` prints and its status, without a start of Python for each.

tests/test_cli.py starts it as a process, too.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from typing import Any
from unittest import mock

import typer
import typer.testing

from lanescope.app import cli

made = lru_cache(maxsize=8)(lambda command, groups, make=typer.main.get_command: make(command))


def build_command(command: typer.Typer) -> Any:
    """What typer makes of the verbs, once: that takes longer than most of them do. Verbs join; none changes."""
    return made(command, len(command.registered_groups))


class CliRunner(typer.testing.CliRunner):
    """typer's runner, which makes the verbs anew for every call, with those that are made."""

    def invoke(self, *words: Any, **options: Any) -> Any:
        with mock.patch.object(typer.testing, "_get_command", build_command):
            return super().invoke(*words, **options)


def run_lanescope(*words: str) -> subprocess.CompletedProcess[str]:
    """Neither output is a terminal. An exception that the command lets through is the test's."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["lanescope", *words]),
        mock.patch.object(typer.main, "get_command", build_command),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code
    told = []
    for stream in (out, errors):
        stream.flush()
        told.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return subprocess.CompletedProcess([*words], status if isinstance(status, int) else 0, *told)
