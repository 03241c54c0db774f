"""What hardware said: the device of this server, and the stored evidence of others."""

from __future__ import annotations

import importlib.util
from collections import Counter
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.resources import templates
from app.wire import dumps
from layouts import catalog

router = APIRouter()


@lru_cache(maxsize=1)
def status() -> dict[str, Any]:
    """GET /gpu: the devices, or why there is none. CuPy is looked for without importing it into the server."""
    if importlib.util.find_spec("cupy") is None:
        reason = "CuPy is not installed. pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
        return {"available": False, "reason": reason, "devices": [], "queue": 0}
    import json
    import subprocess
    import sys

    command = [sys.executable, "-c", "from app.cli import main; main()", "gpu", "status", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    try:
        return json.loads(done.stdout) | {"queue": 0}
    except ValueError:
        return {"available": False, "reason": f"CuPy did not start: {done.stderr[-300:]}", "devices": [], "queue": 0}


@router.get("/api/v1/gpu", tags=["v1"])
async def gpu_api() -> Response:
    """Whether this server has a CUDA device, and if not, why."""
    return Response(dumps(await run_in_threadpool(status)), media_type="application/json")


@router.get("/gpu", include_in_schema=False)
async def gpu_page(request: Request) -> Response:
    """The device and the evidence table: by device and family, how many variants ran and agreed."""
    context = {"status": await run_in_threadpool(status), "devices": table()}
    return templates.TemplateResponse(request, "gpu.html", context)


@lru_cache(maxsize=1)
def table() -> list[dict[str, Any]]:
    """One entry a stored evidence file, with its counts by family."""
    family_of = {i.ptx: i.family.name for i in catalog.instructions()}
    out = []
    for meta, results in catalog.evidence_files():
        ran = Counter(family_of[key.removesuffix(catalog.SHARED_A)] for key in results)
        agreed = Counter(family_of[key.removesuffix(catalog.SHARED_A)] for key, result in results.items() if result == "agrees")
        rows = [{"family": name, "ran": ran[name], "agreed": agreed[name]} for name in catalog.FAMILY_NAMES if name in ran]
        out.append({"meta": meta, "rows": rows, "ran": sum(ran.values()), "agreed": sum(agreed.values())})
    return out
