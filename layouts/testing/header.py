"""The C++17 header that verifies descriptors at compile time."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

HEADER = "lanescope_verify.hpp"


def header_path() -> Path:
    """Return the path of lanescope_verify.hpp; its folder is an include directory."""
    with as_file(files(__package__) / "include" / HEADER) as path:
        return path


def render_verify_header() -> str:
    """Return the text of lanescope_verify.hpp."""
    return header_path().read_text(encoding="utf-8")
