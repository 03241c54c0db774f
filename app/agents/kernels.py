"""For agents: the load that supplies a fragment, and runs of the emulator."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

import numpy as np

from lanescope.app.chain.facts import LoadChainBody, answer_chain, find_loads
from lanescope.app.emulate.forms import emulate_body
from lanescope.app.kit.enumerations import PtxText
from lanescope.app.kit.fact import Json, copy_fact, fact
from lanescope.app.kit.question import make_question, options_of, text_field
from lanescope.inputs import check_keys

MOST_VALUES = 4096  # values of an array that an answer includes

_CHAIN = options_of(LoadChainBody)
PlanQuestion = make_question(
    "PlanQuestion",
    "Where an operand is stored, and the mma that it is for.",
    {
        "load": text_field(
            "",
            "Load or store",
            "ldmatrix or stmatrix to judge; the best that feeds the operand if left out.",
            type=PtxText,
        )
    },
    LoadChainBody,
)


@fact
class LoadPlan:
    """A load or store, whether it moves the operand, the addresses of its lanes, and its code."""

    load: str
    verdict: str
    matched: int
    total: int
    first_mismatch: Any
    lane_addresses: list[int]
    turns: list[list[int]]
    wavefronts: int | None
    ways: int | None
    notes: list[str]
    instead: list[str]
    code: str


def plan_load(body: Json) -> LoadPlan:
    """Return the ldmatrix or stmatrix that moves an operand between a storage and registers, and its code."""
    chain = dict(body)
    if not chain.get("load"):
        check_keys(chain, _CHAIN)
        fits, feeding = find_loads(chain)
        chain["load"] = (feeding or fits)[0]
    answer = answer_chain(chain)
    return copy_fact(
        LoadPlan,
        answer,
        load=chain["load"],
        turns=answer.turns if len(answer.turns) > 1 else [],
        instead=[ptx for ptx in answer.instead if ptx != chain["load"]],
    )


@fact
class EmulatedValues:
    """The result of an emulator run, with the values of each buffer in memory order."""

    status: str
    findings: list[Any]
    outputs: dict[str, Json]
    barriers: list[Any]
    steps: int
    notes: list[str]


def emulate_kernel(body: Json) -> EmulatedValues:
    """Run one cluster of a kernel from its PTX on the CPU, bounded in steps, memory and time."""
    answer = emulate_body(body)
    outputs = {}
    for name, buffer in answer.outputs.items():
        outputs[name] = {"type": buffer.type, "shape": buffer.shape, "changed": buffer.changed}
        if buffer.compared:
            outputs[name]["compared"] = buffer.compared
        if buffer.npy:
            outputs[name]["values"] = _decode_values(buffer.npy)
    return copy_fact(EmulatedValues, answer, outputs=outputs)


def _decode_values(npy: str) -> list[Any]:
    """Return the first values of an array in base64; NaN and infinities as text."""
    try:
        array = np.load(io.BytesIO(base64.b64decode(npy)), allow_pickle=False).reshape(-1)[:MOST_VALUES]
    except (ValueError, binascii.Error):
        return []
    if array.dtype.kind not in "fc":
        return list(array.tolist())
    return [value if np.isfinite(value) else str(value) for value in array.astype(np.float64).tolist()]
