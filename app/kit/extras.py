"""Optional dependencies (extras): the modules of each, and the error with its install command."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from lanescope.errors import LayoutError

# Extra → modules that it provides. tests/test_extras.py compares this with pyproject.toml.
EXTRAS: dict[str, tuple[str, ...]] = {
    "web": (
        "brotli",
        "fastapi",
        "httptools",
        "jinja2",
        "markdown_it",
        "orjson",
        "plotly",
        "prometheus_client",
        "python_multipart",
        "uvicorn",
        *(("uvloop",) if sys.platform != "win32" else ()),
    ),
    "gpu": ("cupy",),
    "fleet": ("distributed",),
    "pictures": ("resvg_py", "svg2pdf_py", "matplotlib"),
    "mcp": ("mcp",),
    "lsp": ("pygls",),
    "sphinx": ("sphinx",),
    "mkdocs": ("mkdocs",),
    "notebook": ("anywidget",),
}


def require_extra(extra: str) -> None:
    """Raise LayoutError `not_installed` if a module of an extra is missing.

    Modules are looked up, not imported. Call this before the first import: `require_extra("mcp")`.
    """
    if missing := list_missing(extra):
        raise refuse_extra(extra, missing)


def list_missing(extra: str) -> list[str]:
    """List the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def refuse_extra(extra: str, missing: list[str]) -> LayoutError:
    """Return the error for modules of an extra that are not installed."""
    verb = "is" if len(missing) == 1 else "are"
    message = f"This needs {', '.join(missing)}, which {verb} not installed."
    return LayoutError("not_installed", message, f"Install the extra '{extra}': {format_install_command(extra)}.")


def refuse_module(module: str) -> LayoutError:
    """Return the error for a module that could not be found, with the extra that brings it."""
    top = module.partition(".")[0]
    for extra, modules in EXTRAS.items():
        if top in modules:
            return refuse_extra(extra, [top])
    hint = "Install Lanescope again: pip install --force-reinstall lanescope."
    return LayoutError("not_installed", f"This needs {module}, which is not installed.", hint)


def format_install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'lanescope[{extra}]'"
