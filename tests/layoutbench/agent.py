"""LayoutBench answered by our own tools: questions as lines of JSON on standard input, answers on standard output, one
session with the real server. `python -m tests.layoutbench.agent`
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client
from mcp.client.stdio import StdioServerParameters

Json = dict[str, Any]
SERVER = StdioServerParameters(command=sys.executable, args=["-m", "lanescope.app.cli", "mcp"], cwd=Path.cwd())


class Call(NamedTuple):
    """The tool that answers a kind of question: its input, and what of its answer is asked for."""

    tool: str
    give: Callable[[Json], Json]
    take: Callable[[Json, Json], Json]


def _take(*names: str) -> Callable[[Json, Json], Json]:
    """Take fields of the one place that was found."""
    return lambda asks, answer: {name: answer["found"][0][name] for name in names if name in answer["found"][0]}


def _name_element(asks: Json) -> str:
    letter = f"matrix {asks['matrix']}" if "matrix" in asks else asks["operand"].upper()
    return f"{letter}[{asks['row']}][{asks['col']}]"


def _name_value(asks: Json) -> str:
    if asks["operand"] == "data":
        return f"R{asks['value'] // 2} of lane {asks['thread']}"
    warp, lane = divmod(asks["thread"], 32)
    holder = f"warp {warp} lane {lane}" if asks["instruction"].startswith("wgmma") else f"lane {lane}"
    return f"{asks['operand']}{asks['value']} of {holder}"


def _take_element(asks: Json, answer: Json) -> Json:
    one = next(held for held in answer["found"] if held["value"] == asks["value"])
    return {name: one[name] for name in ("matrix", "row", "col") if name in one}


def _take_repair(asks: Json, answer: Json) -> Json:
    fixes = [cause["fix"]["descriptor"] for cause in answer.get("diagnoses", ()) if cause.get("fix")]
    word = asks["descriptor"] if answer["verdict"] == "match" else next(iter(fixes), "")
    return {"verdict": answer["verdict"], "descriptor": word}


def _expect(asks: Json) -> Json:
    product = {name: asks[name] for name in ("m", "n", "a", "b", "d")}
    major = {f"transpose_{one}": int(asks[f"major_{one}"] == "MN") for one in "ab"}
    return {"value": "0", "kind": asks["mma_kind"], "expected": product | major}


def _place_in_tensor(asks: Json) -> Json:
    names = {"mma_kind": "kind", "m": "m", "n": "n", "cta_group": "cta_group", "ws": "ws"}
    mma = {name: str(asks[own]) if name in ("kind", "cta_group") else asks[own] for own, name in names.items()}
    kind = asks["kind"]
    place = (
        f"[{asks['row']}][{asks['col']}]"
        if kind == "tensor_element"
        else f"lane {asks['lane']} column {asks['column']}"
    )
    return {"place": place, "tensor_memory": mma}


def _format_blocked(layout: Json) -> str:
    names = ("size_per_thread", "threads_per_warp", "warps", "order")
    return f"gl.BlockedLayout({', '.join(json.dumps(layout[name]) for name in names)})"


CALLS: dict[str, Call] = {
    "element": Call(
        "where",
        lambda asks: {"place": _name_element(asks), "instruction": asks["instruction"]},
        lambda asks, answer: {"holders": [[one["thread"], one["value"]] for one in answer["found"]]},
    ),
    "value": Call(
        "where", lambda asks: {"place": _name_value(asks), "instruction": asks["instruction"]}, _take_element
    ),
    "tv": Call(
        "where",
        lambda asks: {
            "place": f"thread {asks['thread']} value {asks['value']}",
            "tv": {"cute": asks["layout"], "tile": asks["tile"]},
        },
        _take("row", "col"),
    ),
    "descriptor": Call(
        "encode_descriptor",
        lambda asks: {name: value for name, value in asks.items() if name != "kind"},
        lambda asks, answer: {"descriptor": answer["descriptor"]},
    ),
    "tile": Call(
        "encode_descriptor",
        lambda asks: {"tile": asks["tile"]},
        lambda asks, answer: {"descriptor": answer["k_steps"][asks["step"]]["descriptor"]},
    ),
    "idesc": Call(
        "verify_instruction_descriptor", _expect, lambda asks, answer: {"word": answer.get("repair") or answer["word"]}
    ),
    "repair": Call(
        "verify_descriptor",
        lambda asks: {name: value for name, value in asks.items() if name != "kind"},
        _take_repair,
    ),
    "tensor_element": Call("where", _place_in_tensor, _take("lane", "column")),
    "tensor_place": Call("where", _place_in_tensor, _take("row", "col")),
    "tensor_load": Call(
        "where",
        lambda asks: {"place": f"R{asks['register']} of thread {asks['thread']}", "instruction": asks["instruction"]},
        _take("lane", "column"),
    ),
    "convert": Call(
        "convert_layouts",
        lambda asks: (
            {"text": _format_blocked(asks["source"]), "to": _format_blocked(asks["target"])} | {"shape": asks["shape"]}
        ),
        lambda asks, answer: {name: answer[name] for name in ("in_thread", "in_warp")},
    ),
    "banks": Call(
        "bank_conflicts",
        lambda asks: {"access": asks["access"], "address": asks["address"]},
        lambda asks, answer: {"wavefronts": answer["wavefronts"]},
    ),
    "swizzle": Call(
        "solve_swizzle",
        lambda asks: {"accesses": [{"access": asks["access"], "address": asks["address"]}]},
        lambda asks, answer: answer["swizzle"],
    ),
}


async def answer_question(client: Client, question: Json) -> Json:
    """Answer a question by one call of a tool."""
    asks = question["asks"]
    call = CALLS[asks["kind"]]
    result = await client.call_tool(call.tool, call.give(asks))
    answer = json.loads(result.content[0].text)
    return {"error": answer["error"]["message"]} if result.is_error else call.take(asks, answer)


async def main() -> None:
    """Answer the questions of standard input, a line each."""
    async with Client(SERVER) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await answer_question(client, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
