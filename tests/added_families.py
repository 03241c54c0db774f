"""A catalogue with two rows more: a load of tensor memory and a product, named nowhere else, and what all of Lanescope
says of them. tests/added_rows.py asks in its process.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from lanescope.ptx import catalog, table
from lanescope.ptx.instruction import Family, InstructionVerb, OpcodeWords, Operand, OperandPlace, cite_ptx
from lanescope.ptx.table.mma import ABCD

LOAD = Family(
    "tmem_ld",
    OpcodeWords("tmem.ld", "load from tensor memory into registers, by one warp", cite_ptx("9.7.16.8.3")),
    "tmem.ld.sync.aligned.{shape}{x}.{data}",
    ("16x64b",),
    ("b32",),
    {"data": "(g:8 c:2 h:2) (r:x) -> (h g) (r c)"},
    source=cite_ptx("9.7.16.2.3"),
    verb=InstructionVerb.LOAD,
    memory=OperandPlace.TENSOR,
    slots="data",
    options={"x": (".x1", ".x4", ".x16")},
    axes={"data": ("lane", "column")},
)
PRODUCT = Family(
    "imma",
    OpcodeWords("imma", "an imaginary product", cite_ptx("none")),
    "imma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}",
    ("m16n8k32",),
    ("s32 s8 s8 s32",),
    ABCD,
    source=cite_ptx("none"),
)


def build_rows() -> None:
    """The test's own table: all that is added."""
    table.TABLES = (*table.TABLES, types.SimpleNamespace(FAMILIES=[LOAD, PRODUCT]))  # type: ignore[assignment]
    importlib.reload(catalog)  # `import lanescope` has read the tables already
    for row in (LOAD, PRODUCT):  # what `make targets` writes
        catalog._load_targets()[1].update(
            {i.ptx: catalog.TargetSupport(("sm_100a",), "8.6") for i in row.generate_instructions()}
        )


def get_refusal(ask: Callable[[], Any]) -> str:
    from lanescope.errors import LayoutError

    try:
        return str(ask())
    except LayoutError as error:
        return f"{error.code}: {error.message} {error.hint}"


def is_packed_right(op: Operand) -> bool:
    """Whether the NumPy snippet of an operand puts each element where the map says."""
    import numpy as np

    from lanescope.render import python

    scope: dict[str, Any] = {}
    exec(python.render_snippet(op), scope)
    matrix = np.arange(op.row_count * op.col_count, dtype=np.uint32).reshape(op.row_count, op.col_count)
    down, across = op.plane
    right = np.array_equal(scope["pack"](matrix), matrix[op.coords[down], op.coords[across]])
    return bool(right and np.array_equal(scope["unpack"](scope["pack"](matrix)), matrix))


def collect_answers(app: Any) -> dict[str, str]:
    """What engine, API and pages of an application say, by the question."""
    from lanescope.app.hardware import runs
    from lanescope.app.hardware.numpy_device import NumpyDevice
    from lanescope.product import planning
    from lanescope.ptx import overview, qualifiers
    from lanescope.render import kernel
    from lanescope.shared import chain
    from tests import asgi

    load, product = catalog.find("tmem.ld.16x64b.x4.b32"), catalog.find("imma.m16n8k32.row.col.s32.s8.s8.s32")
    out: dict[str, str] = {
        "find": load.ptx,
        "refusal": get_refusal(lambda: catalog.find("tmem.ld.16x64b.x3.b32")),
        "parts": "\n".join(part.meaning for part in qualifiers.list_opcode_parts(load))
        + qualifiers.describe_convergence(load),
        "packed": str(is_packed_right(load.operands["data"])),
        "plan": get_refusal(lambda: planning.make_plan(load)),
        "chain": get_refusal(
            lambda: chain.make_chain(load, product.operands["a"], {"kind": "rows", "inner": "K", "pitch_bytes": 64})
        ),
        "program": kernel.render_program(planning.make_plan(product)),
        "sections": " ".join(f"section {name}" for name in overview.SECTIONS),
    }
    gets = [
        "/instructions",
        "/api/v1/instructions?family=tmem_ld",
        "/api/v1/instructions?q=tmem x4",
        f"/api/v1/instructions/{load.ptx}/operands/data",
    ]
    for i in (load, product):
        gets += [f"/i/{i.ptx}", f"/i/{i.ptx}.svg", f"/i/{i.ptx}.cu", f"/api/v1/instructions/{i.ptx}"]
    gets += [f"/i/{load.ptx}/data.{form}" for form in ("svg", "txt", "md", "csv", "tex", "json")]

    def run(body: dict[str, Any]) -> Any:
        return runs.execute_run(NumpyDevice(), runs.parse_run(body))["agrees"]

    for name, body in {
        "run": {"kind": "fragment", "instruction": load.ptx},
        "product": {"kind": "mma", "instruction": product.ptx},
    }.items():
        out[name] = get_refusal(partial(run, body | {"backend": "numpy"}))

    async def ask() -> None:
        for address in gets:
            answer = await asgi.send_request(app, "GET", address.replace(" ", "%20"))
            assert answer.status == 200, (address, answer.body[:500])
            out[address] = answer.body.decode()

    asgi.run_coroutine(ask())
    return out
