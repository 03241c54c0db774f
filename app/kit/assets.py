"""Static files as pages load them: scripts with everything they import, one style sheet, and addresses with digests.

Dependencies are read from the files: the import statements of modules, and the @import lines of style.css.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from lanescope.app.kit.folders import find_folder

if TYPE_CHECKING:
    from markupsafe import Markup

STATIC = find_folder("static")
STYLE = "style.css"
IMMUTABLE = "public, max-age=31536000, immutable"
_IMPORT = re.compile(r'^import (?:(?:\* as (?P<all>\w+)|\{(?P<names>[^}]*)\}) from )?"(?P<path>\.[^"]*)";\n', re.M)
_EXPORT = re.compile(r"^export (?:async )?(?:const|function|class) ([\w$]+)", re.M)
_SHEET = re.compile(r'^@import "([^"]+)";\n', re.M)


def _read_static(name: str) -> str:
    return (STATIC / name).read_text()


def find_imports(name: str) -> tuple[str, ...]:
    """Return the modules that a script imports, as paths below static/."""
    return tuple(_resolve_import(name, match["path"]) for match in _IMPORT.finditer(_read_static(name)))


def _resolve_import(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def list_modules(name: str) -> tuple[str, ...]:
    """Return a script and everything that it imports, dependencies first.

    >>> list_modules("kit/tool.js")
    ('kit/auto.js', 'kit/copy.js', 'kit/dom.js', 'kit/find.js', 'kit/place.js', 'kit/pictures.js', 'kit/tool.js')
    """
    found: dict[str, None] = {}

    def visit(module: str) -> None:
        for needed in find_imports(module):
            if needed not in found:
                visit(needed)
        found[module] = None

    visit(name)
    return tuple(found)


def render_bundle(name: str) -> str:
    """Return a script with everything it imports as one classic script, because browsers load no modules from file://.

    Each module keeps its own scope and is run in the order in which a browser would run it.
    """
    return '"use strict";\n(() => {\n' + _join_scopes(list_modules(name)) + "})();\n"


def render_module(name: str, exported: Sequence[str]) -> str:
    """Return a script with everything it imports as one module, whose default export has the names `exported`."""
    parts = list_modules(name)
    handed = ", ".join(f"{each}: module{len(parts) - 1}.{each}" for each in exported)
    return f"{_join_scopes(parts)}export default {{ {handed} }};\n"


def _join_scopes(parts: Sequence[str]) -> str:
    number = {part: n for n, part in enumerate(parts)}

    def take_import(part: str, match: re.Match[str]) -> str:
        source = f"module{number[_resolve_import(part, match['path'])]}"
        if match["all"]:
            return f"const {match['all']} = {source};\n"
        return f"const {{{(match['names'] or '').replace(' as ', ': ')}}} = {source};\n"

    def scope(part: str) -> str:
        text = _read_static(part)
        body = _IMPORT.sub(lambda match: take_import(part, match), text)
        exported = ", ".join(_EXPORT.findall(text))
        body = re.sub(r"^export (?=(?:async )?(?:const|function|class) )", "", body, flags=re.M)
        return f"const module{number[part]} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    return "".join(map(scope, parts))


@lru_cache(maxsize=1)
def render_style_sheet() -> str:
    """Return all style sheets joined in the order of style.css."""
    return _SHEET.sub(lambda match: _read_static(match[1]), _read_static(STYLE))


@lru_cache(maxsize=512)
def static_url(name: str) -> str:
    """Return /static/name with a digest of the file and everything it loads, so that a change gives a new address."""
    digest = hashlib.sha256()
    if name == STYLE:
        digest.update(render_style_sheet().encode())
    else:
        for part in list_modules(name) if name.endswith(".js") else (name,):
            digest.update((STATIC / part).read_bytes())
    return f"/static/{name}?{digest.hexdigest()[:10]}"


def render_versioned(name: str) -> str:
    """Return a module whose imports have digests in their addresses, so that browsers can cache each file."""

    def version(match: re.Match[str]) -> str:
        digest = static_url(_resolve_import(name, match["path"])).partition("?")[2]
        return match[0].replace(f'"{match["path"]}"', f'"{match["path"]}?{digest}"')

    return _IMPORT.sub(version, _read_static(name))


def compute_digest(name: str) -> str:
    """Return the digest that static_url puts into the address of a file; "" if the file does not exist."""
    inside = STATIC.joinpath(name).resolve().is_relative_to(STATIC.resolve())
    return static_url(name).partition("?")[2] if inside and STATIC.joinpath(name).is_file() else ""


@lru_cache(maxsize=64)
def script(name: str, data: str = "") -> Markup:
    """Return the elements that load a module and preload everything it imports. data: further attributes."""
    from markupsafe import Markup  # of the extra `web`; notebooks read scripts without it

    ahead = "".join(f'<link rel="modulepreload" href="{static_url(part)}">' for part in list_modules(name)[:-1])
    return Markup(f'{ahead}<script type="module" src="{static_url(name)}"{" " * bool(data)}{data}></script>')
