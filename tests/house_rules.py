"""Whether a file keeps the rules of tests.house: what it imports, and what the engine calls.

The rules judge (path, source), so a test can hand them a file that does not exist.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from tests.house import (
    ALL_MODULES,
    BEHIND,
    CALLS,
    DATA,
    ENGINE_STDLIB,
    EXECUTES,
    FLOOR,
    FRAMEWORK,
    GPU_OF,
    HANDED_OUT,
    KINDS,
    KIT_PLAIN,
    KIT_SERVER,
    LAZY,
    LIBRARY_READS,
    MORE,
    NAMED,
    OTHER_FILES,
    PARSED_IN,
    PARSER,
    PURE,
    READER_CALLS,
    READERS,
    READS,
    ROOT,
    SAYS_CODE,
    SCRIPTS_OF,
    STANDARD,
    TEMPLATES_OF,
    TOP,
    WITH_DASK,
)


@dataclass(frozen=True)
class Import:
    """One module that a file imports, under its full name; whether only when something runs."""

    name: str
    inside: bool

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


@lru_cache(maxsize=1)
def inventory() -> frozenset[str]:
    """Every module of the house, by its dotted name; a package stands under its own."""
    paths = (path.relative_to(ROOT) for top in ("layouts", "app") for path in (ROOT / top).rglob("*.py"))
    return frozenset(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)


@lru_cache(maxsize=1)
def exported() -> dict[str, str]:
    """name → module of everything that `from lanescope import …` hands out."""
    tree = ast.parse((ROOT / "layouts" / "__init__.py").read_text())
    return {
        alias.asname or alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@lru_cache(maxsize=8)
def nodes(source: str) -> tuple[ast.AST, ...]:
    """The nodes of a file in ast.walk's order, the module first: one walk for every rule."""
    return tuple(ast.walk(ast.parse(source)))


@cache
def documented(source: str) -> bool:
    """Whether a file says what it knows."""
    tree = nodes(source)[0]
    return isinstance(tree, ast.Module) and bool(ast.get_docstring(tree))


@cache
def imports(source: str) -> tuple[Import, ...]:
    """What a file imports; a name that a package hands out counts as the module it comes from."""
    documented(source)  # both are asked of every file
    indented = re.search(r"^\s+(?:import|from)\s|[:;] *(?:import|from)\s", source, re.M)
    later = (node for node in nodes(source) if _runs_later(node)) if indented else ()
    inside = {id(node) for each in later for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)}
    found: list[Import] = []
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, id(node) in inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            found += [Import(_origin(base, alias.name), id(node) in inside) for alias in node.names]
    return tuple(found)


def _runs_later(node: ast.AST) -> bool:
    """Whether what stands inside is no part of importing the module: a function, or what only a type checker reads."""
    only_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return only_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _origin(module: str, name: str) -> str:
    if f"{module}.{name}" in inventory():
        return f"{module}.{name}"
    if module == "layouts":
        return exported().get(name, f"layouts.{name}")
    return module


def violations(path: str, source: str) -> list[str]:
    """What is wrong with a file at a path of the house: one line a rule it breaks, in the order of its lines."""
    if not path.endswith(".py"):
        return [] if re.fullmatch(OTHER_FILES, path) else [f"{path}: no kind of file of this house"]
    if path.startswith("layouts/"):
        return [*_engine(path, source), *_io(path, source), *_loads(path, source)]
    code = [] if path.startswith("app/hardware/") else _says_code(path, source)
    return [*_server(path, source), *_dynamic(path, source), *code]


def _loads(path: str, source: str) -> Iterator[str]:
    """The same of the engine, whose calls are judged already."""
    return (said for said in _dynamic(path, source) if not any(said.endswith(f" {name}") for name in CALLS))


# the engine -----------------------------------------------------------------------------------------------------------


def _engine(path: str, source: str) -> Iterator[str]:
    room = path.split("/")[1].removesuffix(".py")
    if room == "__init__":
        yield from (f"{path}: hands out {it.name}" for it in imports(source) if it.name not in HANDED_OUT)
        for node in ast.parse(source).body:
            names = [ast.unparse(to) for to in node.targets] if isinstance(node, ast.Assign) else []
            if not (isinstance(node, ast.Expr | ast.ImportFrom) or names in (["__all__"], ["__version__"])):
                yield f"{path}: hands out modules and does nothing else"
        return
    if room not in FLOOR:
        yield f"{path}: '{room}' is no room of the engine"
        return
    for it in imports(source):
        if it.top == "layouts":
            other = it.name.partition(".")[2].partition(".")[0]
            if it.name not in inventory() or other not in FLOOR:
                yield f"{path}: imports {it.name}, which is nothing known"
            elif other != room and FLOOR[other] >= FLOOR[room]:
                yield f"{path}: imports {it.name}, which does not stand below it"
        elif it.top in PARSER and path.startswith(PARSED_IN):
            continue
        elif it.name not in {"numpy", "numpy.typing"} | ENGINE_STDLIB | READERS.get(path, set()):
            yield f"{path}: imports {it.name}; the engine is NumPy and a few modules without I/O"


def _io(path: str, source: str) -> Iterator[str]:
    """What reads, writes or runs something, by whatever name it is called."""
    ours, libraries = _bound(source)
    called = {id(node.func) for node in nodes(source) if isinstance(node, ast.Call)}
    for node in nodes(source):
        if path in READERS and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            name = node.right.value if isinstance(node.right, ast.Constant) else None
            if isinstance(name, str) and name not in DATA:
                yield f"{path}: names the file '{name}'"
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] != "layouts":
            yield from (
                f"{path}: imports {alias.name} of {node.module}"
                for alias in node.names
                if alias.name in READS | LIBRARY_READS
            )
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in CALLS - ours:
            yield f"{path}: calls {node.id}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Path":
            yield f"{path}: names a file"
        elif isinstance(node, ast.Attribute):
            allowed = READER_CALLS if path in READERS else set()
            library = _root(node) in libraries
            wrong = (READS if library or id(node) in called else set()) | (LIBRARY_READS if library else set())
            if node.attr in wrong - allowed:
                yield f"{path}: calls .{node.attr}"


def _bound(source: str) -> tuple[set[str], set[str]]:
    """(the names that a file gives something of its own, the names of libraries in it)."""
    own: set[str] = set()
    libraries: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            ours = isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "layouts"
            (own if ours else libraries).update(names)
    return own, libraries


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes begins with, "" for none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# the server -----------------------------------------------------------------------------------------------------------


def kind_of(path: str) -> tuple[str, str]:
    """(feature, kind) of a file of the server; ("", why) where it belongs to none."""
    parts = path.removesuffix(".py").split("/")[1:]
    if parts == ["__init__"]:
        return "app", "empty"
    if len(parts) == 1:
        return ("top", parts[0]) if parts[0] in TOP else ("", f"'{parts[0]}' is no program of app/")
    if len(parts) != 2:
        return "", "a feature has no folders"
    feature, name = parts
    if feature not in ("kit", "gpu", *NAMED):
        return "", f"'{feature}' is no feature"
    if name == "__init__":
        return feature, "empty"
    if feature == "kit":
        return (
            ("kit", "plain")
            if name in KIT_PLAIN
            else ("kit", "server")
            if name in KIT_SERVER
            else ("", f"'{name}' is no room of kit/")
        )
    if feature == "gpu":
        return ("gpu", "gpu")
    kind = name if name in STANDARD else NAMED[feature].get(name, "")
    return (feature, kind) if kind else ("", f"'{name}' is no kind of file of '{feature}'")


def _server(path: str, source: str) -> Iterator[str]:
    feature, kind = kind_of(path)
    found = list(imports(source))
    name = path.split("/")[-1]
    if not feature:
        yield f"{path}: {kind}"
        return
    if kind == "empty":
        body = ast.parse(source).body
        if len(body) > 1 or (body and not isinstance(body[0], ast.Expr)):
            yield f"{path}: a package's own file says what it is for and nothing else"
        return
    for it in found:
        where = f"{path}: imports {it.name}"
        if it.name.startswith("."):
            yield f"{where}; names are written out"
        elif it.top in LAZY.get(path, set()):
            if not it.inside:
                yield f"{where} before it runs"
        elif it.top in ("fastapi", "starlette") and not (name in FRAMEWORK or path == "app/kit/wire.py"):
            yield f"{where}; only page.py, api.py, main.py and kit/wire.py may"
        elif it.top in sys.stdlib_module_names:
            if kind in KINDS and kind != "verbs" and it.name not in PURE | MORE.get(path, set()):
                yield f"{where}; what a feature knows takes nothing that reads, waits or runs"
        elif it.top == "numpy":
            continue
        elif it.top == "layouts":
            if it.name not in inventory():
                yield f"{where}, which is nothing known"
        elif it.top == "app":
            yield from (f"{where}; {why}" for why in [_why_not(path, feature, kind, it)] if why)
        elif it.top not in _third(feature, kind, name.removesuffix(".py")):
            yield f"{where}; no {kind} may"


def _third(feature: str, kind: str, name: str) -> set[str]:
    """The packages that a file may import beside NumPy."""
    if feature == "kit":
        return set((KIT_PLAIN | KIT_SERVER)[name].split())
    if feature == "top":
        return set(TOP[name][0].split())
    if feature == "gpu":
        return {"dask", "distributed"} if f"app/hardware/{name}.py" == WITH_DASK else set()
    return set(KINDS[kind].third)


def _why_not(path: str, feature: str, kind: str, it: Import) -> str:
    """Why a file may not import a module of app/, "" where it may."""
    if it.name not in inventory():
        return "which is nothing known"
    other, its = kind_of(it.name.replace(".", "/") + ".py")
    if not other or its == "empty":
        return "which belongs nowhere"
    if it.name.replace(".", "/") + ".py" == WITH_DASK and not it.inside:
        return "before it runs"
    if other == "gpu":
        allowed = (
            feature == "gpu"
            or it.name.rpartition(".")[2] in GPU_OF.get(path, set())
            or (kind in KINDS and KINDS[kind].gpu)
        )
        return "" if allowed else "which no row allows"
    if feature == "gpu":
        return "app/hardware stands on the engine alone"
    if feature == "kit":
        if other != "kit":
            return "kit knows no feature"
        return "which loads the server" if its == "server" and kind == "plain" else ""
    if feature == "top":
        allowed = TOP[kind][1].split()
        return "" if (other if other in ("kit",) else its) in allowed else f"no {kind} may"
    if other == "top":
        return "" if (kind, its) == ("verbs", "export") else "programs stand above features"
    if other == "kit":
        return "which loads the server" if its == "server" and KINDS[kind].kit == "plain" else ""
    if its not in (KINDS[kind].own if other == feature else KINDS[kind].others):
        return f"no {kind} may import {its} of {'its own' if other == feature else 'another'} feature"
    return ""


def _dynamic(path: str, source: str) -> Iterator[str]:
    """What loads or runs code that no reader of import statements sees."""
    for it in imports(source):
        if it.top in BEHIND:
            yield f"{path}: imports {it.name}, which loads modules"
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            yield from (f"{path}: calls {a.name}" for a in node.names if a.name in ("import_module", "__import__"))
        elif (
            isinstance(node, ast.Attribute)
            and node.attr == "modules"
            and ast.unparse(node) == "sys.modules"
            and path not in ALL_MODULES
        ):
            yield f"{path}: looks into sys.modules"
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            runs = isinstance(node, ast.Name) and name in ("exec", "eval", "compile") and path not in EXECUTES
            if name in ("__import__", "import_module", "__builtins__") or runs:
                yield f"{path}: calls {name}"


def _says_code(path: str, source: str) -> Iterator[str]:
    """Texts of CUDA C++ and inline PTX, which layouts/render writes."""
    for node in nodes(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SAYS_CODE.search(node.value):
            yield f"{path}: writes CUDA C++, which layouts/render does"


def borrowed(path: str, source: str) -> list[str]:
    """What a template or a script takes of a feature that is not its own, beside what a row allows."""
    root, feature = path.split("/")[:2]
    if root == "templates":
        found = re.findall(r"(?:include|import|extends|from)\s+['\"](\w+)/", source)
        allowed = TEMPLATES_OF.get(feature, set())
    else:
        found = re.findall(r"(?:import|from)\s*\(?\s*['\"]\.\./(\w+)/", source)
        allowed = SCRIPTS_OF.get(feature, set())
    return [f"{path}: takes something of {other}" for other in found if other not in {feature, "kit", *allowed}]


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle, each circle once; [] for a house of floors."""
    done: set[str] = set()
    found: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            found.append(" → ".join((*above[above.index(name) :], name)))
        elif name not in done:
            for needed in sorted(graph.get(name, ())):
                visit(needed, (*above, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return found
