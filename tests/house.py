"""The rules of the house: which rooms there are, what each file may import, and what the engine may call.

Every rule is a row or a set below; a module, an import or a kind of file that stands in none of them is refused, by
tests.house_rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

# The engine: a room imports rooms of lower floors, and its own; table/ and render/ are rooms of several files.
FLOORS = (
    "c_integers errors causes deadline pasted showing",
    "bits dtypes excerpt palette reading swizzle tuples",
    "banks c_sizes codec cute format kind npy precedence",
    "algebra expression formula freeing linear pattern",
    "cutetext metadata role spelling syntax triton",
    "operand",
    "cutecalls instruction zeromask",
    "pieces refused reuse slots table view",
    "catalog descriptor qualifiers statement window",
    "idesc tiling",
    "overview scales slices storage tma tmem umma wmma",
    "bound chain compressed copyatom differences epilogue repair scaling tile_map",
    "case feeding plan umma_atom worlds",
    "fits options packing starts unreadable",
    "mistakes placing",
    "diagnosis planning",
    "verify",
    "describing locate",
    "dump",
    "reader",
    "workbench",
    "check",
    "capture",
    "render",
    "tiles",
    "notebook",
)
HANDED_OUT = {
    f"layouts.{room}"
    for room in (
        "bound catalog errors notebook pattern tiles.mma tiles.copy tiles.bulk tiles.tv tiles.gluon tiles.loop".split()
    )
}
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms.split()}
# Modules of the standard library, by their whole names.
ENGINE_STDLIB = set(
    "__future__ abc bisect collections collections.abc contextlib contextvars dataclasses difflib enum functools html"
    " io itertools json math re shlex textwrap typing xml.etree zlib".split()
)
# The only file of the engine that reads: the assembled targets, their SASS and the evidence, all beside it.
READERS = {"layouts/ptx/catalog.py": {"importlib.resources"}}
READER_CALLS = {"read_text", "iterdir"}
# The one exception to NumPy alone: a parser and its grammars, by whom nothing is read or run.
PARSER, PARSED_IN = {"tree_sitter", "tree_sitter_cuda", "tree_sitter_python"}, "layouts/reader/code/"
DATA = {"table", "targets.json", "sass.json", "evidence"}  # the names it may put together
READS = set(
    "open FileIO open_code read_text read_bytes write_text write_bytes iterdir glob rglob unlink mkdir touch tofile"
    " open_memmap".split()
)
# Of NumPy, json and ElementTree.
LIBRARY_READS = set(
    "load loadtxt genfromtxt fromregex fromfile memmap DataSource save savez savez_compressed savetxt dump parse"
    " iterparse".split()
)
CALLS = set("open exec eval compile __import__ __builtins__ globals input print breakpoint".split())
# What loads a module behind the back of whoever reads the imports.
BEHIND = set("runpy pkgutil imp builtins code codeop".split())
EXECUTES = {"app/hardware/scripts.py"}  # runs a generated script in a worker
ALL_MODULES = {"app/hardware/guard.py"}  # looks at what is loaded
# Files that are no Python: the package's marks, and the data of the engine.
OTHER_FILES = r"(?:app|layouts)/py\.typed|layouts/(?:table|evidence)/[\w.-]+\.json"

# The server. What a kind of file is for, and what it may import: third-party packages, kinds of its own feature, kinds
# of others.
SERVER = {"fastapi", "starlette", "pydantic", "uvicorn"}


@dataclass(frozen=True)
class Kind:
    """What files of one kind may import beside the engine, the standard library and NumPy."""

    third: frozenset[str]
    own: frozenset[str]
    others: frozenset[str]
    kit: str  # plain: rooms of kit/ that load no server; server: all of them
    gpu: bool = False  # app/hardware, as far as it is not named in GPU_OF


def _kind(third: str = "", own: str = "", others: str = "", kit: str = "plain", gpu: bool = False) -> Kind:
    return Kind(frozenset(third.split()), frozenset(own.split()), frozenset(others.split()), kit, gpu)


# What a feature takes of the standard library: nothing that reads, waits, starts something or speaks to anybody. Verbs
# are programs and take what they need.
PURE = set(
    "__future__ base64 binascii collections collections.abc contextlib dataclasses functools hashlib html io"
    " itertools keyword math re shlex typing urllib.parse zlib".split()
)
MORE = {
    "app/check/facts.py": {"pathlib"},  # the files that are checked
    "app/check/sarif.py": {"importlib.metadata"},
    "app/guide/index.py": {"pathlib"},  # the pages of docs/guide
    "app/runs/hardware.py": {"asyncio", "importlib.util", "time"},  # waits for workers
}
SAYS_CODE = re.compile(r'asm volatile|__global__|__device__|__shared__|#include ["<]|extern "C"')  # layouts/render's
# Templates and scripts: a feature's own and the kit's, and whose else.
TEMPLATES_OF = {"chain": {"memory"}, "layouts": {"tiles"}, "read": {"memory"}}
SCRIPTS_OF = {"tiles": {"instruction"}, "layouts": {"instruction", "tiles"}}

KINDS = {
    "facts": _kind(own="facts"),
    "draw": _kind(third="markupsafe", own="facts draw"),
    "forms": _kind(third="markdown_it", own="facts draw forms", others="facts draw forms"),
    "schemas": _kind(third="pydantic typing_extensions", own="facts schemas", others="schemas", kit="server"),
    "verbs": _kind(third="typer rich", own="facts draw forms verbs", others="facts draw forms", gpu=True),
    "api": _kind(
        third="fastapi starlette", own="facts draw forms schemas", others="facts draw forms schemas", kit="server"
    ),
    "page": _kind(third="fastapi starlette", own="facts draw forms api", others="facts draw forms", kit="server"),
}
FRAMEWORK = {"page.py", "api.py", "main.py"}  # and kit/wire.py

# Files that are not named after their kind: what each is.
NAMED: dict[str, dict[str, str]] = {
    "apidocs": {},
    "banks": {},
    "capture": {"examples": "facts"},
    "catalogue": {"groups": "facts", "search": "facts", "topics": "forms"},
    "chain": {},
    "check": {"sarif": "facts"},
    "compare": {},
    "diagram": {"gallery": "forms", "options": "facts", "verdicts": "forms"},
    "dump": {"examples": "facts"},
    "guide": dict.fromkeys(
        "benchmarks cpp index markdown orders overviews reading reference slips words".split(), "facts"
    )
    | {"examples": "forms", "render": "forms", "values": "forms"},
    "home": {},
    "idesc": {},
    "scales": {},
    "tmem": {"epilogue": "facts"},
    "instruction": {
        "head": "forms",
        "issued": "forms",
        "matrices": "forms",
        "terms": "forms",
        "stored": "forms",
        "words": "facts",
        "answers": "facts",
        "code": "facts",
        "context": "forms",
        "lanes": "facts",
        "pickers": "facts",
        "pressure": "facts",
        "state": "facts",
        "wmma": "facts",
    },
    "kernel": {},
    "layouts": {
        "benched": "forms",
        "cute": "forms",
        "drawn": "forms",
        "pictures": "forms",
        "triton": "forms",
        "tv": "forms",
        "words": "forms",
    },
    "memory": {
        "atoms": "forms",
        "described": "facts",
        "choices": "forms",
        "descriptors": "facts",
        "editor": "forms",
        "options": "facts",
        "presets": "facts",
        "storage": "facts",
        "tile": "forms",
        "tiles": "draw",
    },
    "metadata": {"order": "facts"},
    "read": {"bench": "forms", "languages": "facts", "reading": "forms", "whole": "forms"},
    "reuse": {},
    "runs": {"contacts": "verbs", "hardware": "forms", "workers": "verbs"},
    "steps": {"asked": "forms", "wgmma": "facts"},
    "tiles": {
        "bench": "forms",
        "bulkbench": "forms",
        "chains": "forms",
        "copied": "forms",
        "copies": "facts",
        "copyfigure": "forms",
        "copying": "forms",
        "figure": "forms",
        "loopfigure": "forms",
        "looping": "forms",
        "loops": "facts",
        "paper": "forms",
        "presets": "facts",
        "held": "forms",
        "script": "forms",
        "stage": "forms",
        "state": "facts",
        "umma": "forms",
        "umma_figure": "forms",
        "umma_facts": "facts",
    },
}
STANDARD = set(KINDS)

# kit/: what each room may import of other people's packages; `server` rooms load the framework or pydantic.
KIT_PLAIN = {
    "asgi": "", "asked": "", "draw": "", "fact": "", "probes": "", "names": "typing_extensions", "examples": "",
    "ran": "", "labels": "", "matrix": "", "menus": "", "links": "", "rows": "", "job": "",
    "assets": "markupsafe", "encode": "orjson", "errors": "", "headers": "", "limits": "", "logs": "", "media": "",
    "metrics": "prometheus_client",
    "picture": "", "picture_worker": "resvg_py svg2pdf_py", "prefix": "", "rate": "", "serve": "typer uvicorn",
    "settings": "", "tls": "", "terminal": "typer rich",
}  # fmt: skip
KIT_SERVER = {
    "api": "fastapi starlette", "page": "fastapi starlette markupsafe", "plotly": "",
    "schemas": "pydantic typing_extensions", "wire": "starlette brotli", "work": "",
}  # fmt: skip
TOP = {
    "cli": ("typer", "kit facts draw forms verbs export"),
    "main": ("fastapi starlette uvicorn prometheus_client", "kit facts forms page api"),
    "export": ("rich", "kit facts draw forms main"),
}
# Which rooms of app/hardware a file may ask, beside verbs: none of them needs a device before it is told to run.
GPU_OF = {
    "app/kit/picture.py": {"pool"},  # a process that draws is kept as one that runs is
    "app/instruction/context.py": {"fragments", "runs"},
    "app/instruction/head.py": {"runs"},
    "app/guide/values.py": {"evidence"},
    "app/runs/api.py": {"runs"},
    "app/kit/ran.py": {"runs"},
    "app/runs/facts.py": {"evidence", "jobs", "members", "pieces", "runs"},
    "app/runs/hardware.py": {"contact", "device", "fleet", "pool"},
    "app/runs/page.py": {"evidence", "runs"},
    "app/runs/schemas.py": {"products"},
    "app/steps/draw.py": {"own"},
    "app/steps/facts.py": {"numbers", "own", "products", "runs"},
    "app/steps/wgmma.py": {"numbers", "own", "products", "reference", "whole"},
    "app/steps/api.py": {"runs"},
    "app/steps/asked.py": {"own"},
    "app/steps/page.py": {"own"},
}
LAZY = {  # imported inside functions, and nowhere else
    "app/hardware/device.py": {"cupy", "cupy_backends"},
    "app/hardware/contact.py": {"distributed"},
    "app/hardware/fleet.py": {"distributed"},
    "app/hardware/guard.py": {"distributed"},
}
WITH_DASK = (
    "app/hardware/posts.py"  # a scheduler's and a worker's own classes; what imports it does so when one is to run
)
