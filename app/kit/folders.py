"""Folders of the project."""

from __future__ import annotations

from pathlib import Path


def find_folder(name: str) -> Path:
    """Return a folder of the project: beside this package in a checkout, inside it in an installed wheel."""
    here = Path(__file__).resolve().parents[1]
    return next(path for path in (here / name, here.parent / name) if path.is_dir())
