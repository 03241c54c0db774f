"""`lanescope mcp` as a process: what it prints, opens and loads, how a call ends, and what starts it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import pytest
from mcp import types

from lanescope.app.agents import server
from lanescope.app.agents.tools import ROWS, answer_call
from lanescope.app.emulate.feature import ADD
from lanescope.app.kit.question import options_of
from lanescope.errors import LayoutError
from tests.integrations.mcp_session import COMMAND

LAUNCH = {"grid": [1], "block": [32], "args": ["C"], "buffer": {"C": {"shape": [32], "type": "u32", "fill": 1}}}


def test_standard_output_carries_only_the_protocol() -> None:
    """Every line is an answer in JSON-RPC, also where the input is no JSON, and the process ends with its input."""
    head = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        json.dumps(head | {"params": about}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is no JSON",
        json.dumps(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
            | {"params": {"name": "explain_refusal", "arguments": {"text": "mma"}}}
        ),
    ]
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        said = []
        while not any(one.get("id") == 2 for one in said):
            said.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        said += [json.loads(line) for line in process.stdout.read().splitlines()]
        assert process.wait(10) == 0
    assert all(one["jsonrpc"] == "2.0" for one in said)


def test_a_computation_that_is_too_slow_is_ended_and_refused() -> None:
    ended = threading.Event()

    def hang() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    with pytest.raises(LayoutError) as refused:
        anyio.run(wait_and_return, hang, ended)
    assert refused.value.code == "too_slow"
    assert ended.is_set()


async def wait_and_return(hang: Any, ended: threading.Event) -> None:
    try:
        await server.compute(hang, 0.05)
    finally:
        for _ in range(100):
            if ended.is_set():
                break
            await anyio.sleep(0.05)


def test_a_mistake_of_ours_is_a_tool_error_without_a_traceback() -> None:
    params = types.CallToolRequestParams(name="where", arguments={"place": "x"})
    with mock.patch.object(server, "answer_call", side_effect=ZeroDivisionError("secret")):
        result = anyio.run(server._call_tool, None, params)
    assert result.is_error and "internal_error" in result.content[0].text and "secret" not in result.content[0].text


WEB = ("fastapi", "jinja2", "markdown_it", "orjson", "brotli", "plotly", "prometheus_client", "uvloop")


def test_tools_open_no_file_and_no_connection_and_need_no_server() -> None:
    """Calls with names of files in them open nothing once their tables are loaded; the extra web is not installed."""
    program = (
        "import sys, json\n"
        f"sys.modules |= dict.fromkeys({WEB!r})\n"
        "import lanescope.app.agents.server\n"
        "from lanescope.app.agents import resources\n"
        "from lanescope.app.agents.tools import ROWS, answer_call\n"
        "calls = [(row.name, row.example) for row in ROWS] + json.load(sys.stdin)\n"
        "[answer_call(*one) for one in calls]\n"
        "[resources.read_resource(one.uri) for one in resources.list_resources()[:9]]\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, str(args[0]), str(args[1:2]))) if event in"
        " ('open', 'socket.connect', 'socket.getaddrinfo', 'subprocess.Popen', 'os.remove', 'os.mkdir') else None)\n"
        "out = [answer_call(*one)[0] for one in calls]\n"
        "print(json.dumps([seen, out[-2:]]))\n"
    )
    secret = str(Path(__file__).resolve())
    launch = LAUNCH | {"buffer": {"C": {"file": secret, "output": "/tmp/written.npy"}}}
    calls = [
        ("verify_source", {"files": [{"name": secret, "text": f'#include "{secret}"\n'}]}),
        ("emulate", {"ptx": ADD, "launch": launch}),
    ]
    ran = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(calls), capture_output=True, text=True, check=True
    )
    seen, (source, emulated) = json.loads(ran.stdout)
    assert seen == []
    assert "error" in emulated and "CONTRACT" not in json.dumps(source)


def test_half_a_surrogate_pair_is_refused() -> None:
    answer, refused = answer_call("explain_refusal", {"text": "\ud800"})
    assert refused and answer["error"]["code"] == "bad_json" and json.dumps(answer, ensure_ascii=False).encode()


def test_the_settings_that_the_documents_show_start_the_command() -> None:
    """Every JSON block of docs/agents.md and docs/usage.md that has servers names the command that these tests run."""
    shown = 0
    for name in ("agents.md", "usage.md"):
        text = (Path(__file__).parents[2] / "docs" / name).read_text()
        for block in re.findall(r"^```json\n(\{\"(?:mcpServers|servers)\".*\})\n```$", text, re.M):
            (servers,) = json.loads(block).values()
            assert servers["lanescope"]["command"] == "lanescope" and servers["lanescope"]["args"] == COMMAND[-1:]
            shown += 1
    assert shown == 3


def test_without_the_extra_the_command_says_how_to_install_it() -> None:
    program = "import sys; sys.modules['mcp'] = None; from lanescope.app.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", program, "mcp"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and not ran.stdout
    assert "pip install 'lanescope[mcp]'" in ran.stderr


def test_tools_have_no_field_that_their_parts_shadow() -> None:
    assert not any({"show", "from"} & set(options_of(row.tool.question)) for row in ROWS)
