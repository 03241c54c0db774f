"""Rows more, as a line added to a table's file would be: a shape of tcgen05.ld and .st, an element type with a product,
and a descriptor format. Prints what all of Lanescope says of them: pages, API, document, pictures and command line; and
what it says of the families of tests/added_families.py.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHAPE, ELEMENT, FORMAT = "32x64b", "e3m4", "later"
# Module → (a line of its file, the line that is added behind it).
ADDED = {
    "lanescope.ptx.table.tmem": (
        "MOVES = (\n",
        f'    TmemMove("{SHAPE}", "(l:32) (r:x c:2) -> (l) (r c)", "(l:32) (r:x c:2 p:2) -> (l) (r c p)",'
        " 64, 2, 32),\n",
    ),
    "lanescope.ptx.dtypes": (
        "_ROWS = (\n",
        f'    DType("{ELEMENT}", 8, "float", format=FloatFormat(3, 4, SpecialCodes.NONE), names=TypeNames("E3M4")),\n',
    ),
    "lanescope.ptx.table.mma": (
        "FAMILIES = [\n",
        f'    Family("mma", OPCODE, "mma.sync.aligned.{{shape}}.row.col.{{d}}.{{a}}.{{b}}.{{c}}", ("m16n8k32",),'
        f' ("f32 {ELEMENT} {ELEMENT} f32",), ABCD, cite_ptx("none")),\n',
    ),
    "lanescope.ptx.table.descriptors": (
        "FORMATS = (WGMMA, TCGEN05",
        f', DescriptorFormat("{FORMAT}", (START, LBO, SBO, replace(BASE_OFFSET, low=57, high=59),'
        " replace(SWIZZLE, low=60)),"
        ' WGMMA.codes, "a made-up row", element_bits=(8, 16), reader="later.mma", cutlass=("cute::Later", ""))',
    ),
}


class LongerLoader(importlib.machinery.SourceFileLoader):
    """Reads a module's file with its line added."""

    def get_data(self, path: str) -> bytes:
        text = Path(path).read_text()
        before, line = ADDED[self.name]
        assert text.count(before) == 1, (path, before)
        return text.replace(before, before + line).encode()

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_data(self.path), self.path)


class RowFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in ADDED:
            return None
        file = str(ROOT.joinpath("layouts", *name.split(".")[1:]).with_suffix(".py"))
        return importlib.util.spec_from_file_location(name, file, loader=LongerLoader(name, file))


LOAD = f"tcgen05.ld.sync.aligned.{SHAPE}.x4.b32"
PRODUCT = f"mma.sync.aligned.m16n8k32.row.col.f32.{ELEMENT}.{ELEMENT}.f32"
WORD = "0x1200404000010100"  # 128B, and a base offset of 1 in bits 57 to 59
GETS = (
    "/openapi.json",
    "/instructions",
    "/instructions?family=tcgen05_ld",
    "/guide/tensor-memory",
    f"/api/v1/instructions?q={SHAPE}",
    f"/i/{LOAD}",
    f"/i/{LOAD}.svg",
    f"/i/{LOAD}.cu",
    f"/api/v1/instructions/{LOAD}",
    f"/api/v1/tmem/access?access=tcgen05.ld.{SHAPE}.x4",
    f"/tmem?access=tcgen05.st.{SHAPE}.x2&at=32:64",
    f"/tmem/epilogue?access=tcgen05.ld.{SHAPE}.x4",
    f"/i/{PRODUCT}",
    f"/i/{PRODUCT}.svg",
    f"/i/{PRODUCT}.cu",
    f"/api/v1/instructions/{PRODUCT}",
    f"/api/v1/instructions?type={ELEMENT}",
    f"/diagram?figure=instruction&ptx={PRODUCT}",
    f"/descriptor/{FORMAT}/{WORD}",
    f"/descriptor/{FORMAT}/{WORD}.svg",
    f"/descriptor/{FORMAT}/{WORD}.json",
    f"/api/v1/descriptors/{WORD}?format={FORMAT}",
    f"/smem?format={FORMAT}",
    f"/api/v1/smem/tile?format={FORMAT}",
    f"/smem.svg?format={FORMAT}",
)
COMMANDS = (
    ("list", "--family", "tcgen05_ld", "--json"),
    ("show", LOAD),
    ("show", PRODUCT, "a", "--at", "3,2"),
    ("diagram", LOAD),
    ("tmem", "epilogue", "--access", f"tcgen05.ld.{SHAPE}.x4"),
    ("descriptor", "decode", WORD, "--format", FORMAT),
    ("smem", "--format", FORMAT),
)


def collect_answers(app: Any) -> dict[str, str]:
    """What pages, API, runs and the command line say, by the question."""
    from lanescope.app.hardware import runs, tensor_moves
    from lanescope.app.hardware.numpy_device import NumpyDevice
    from lanescope.product import planning
    from lanescope.ptx import catalog
    from lanescope.render import kernel
    from tests import asgi, command
    from tests.tensor_simulation import SimulatedTensorDevice

    held = catalog._load_targets()[1]  # what `make targets` writes
    held.update(
        {i.ptx: catalog.TargetSupport(("sm_100a",), "8.6") for i in catalog.instructions() if i.ptx not in held}
    )
    out: dict[str, str] = {}

    async def ask() -> None:
        for address in GETS:
            answer = await asgi.send_request(app, "GET", address)
            out[address] = f"{answer.status} {answer.body.decode()}"

    asgi.run_coroutine(ask())
    for words in COMMANDS:
        ran = command.run_lanescope(*words)
        out[" ".join(words)] = f"{ran.returncode} {ran.stdout}{ran.stderr}"
    out["probe"] = " ".join(one.key for one in tensor_moves.run_moves(SimulatedTensorDevice()) if one.ran == one.agreed)
    body = {"kind": "mma", "instruction": PRODUCT, "backend": "numpy"}
    out["run"] = str(runs.execute_run(NumpyDevice(), runs.parse_run(body))["agrees"])
    out["program"] = kernel.render_program(planning.make_plan(catalog.find(PRODUCT)))
    return out


if __name__ == "__main__":
    gc.disable()
    sys.meta_path.insert(0, RowFinder())
    from tests import added_families

    added_families.build_rows()
    from lanescope.app.main import create_app

    app = create_app()
    print(json.dumps({"rows": collect_answers(app), "families": added_families.collect_answers(app)}))
    app.state.work.close()
    app.state.hardware.pool.close()
