"""Settings of a check: those of lanescope.toml, or of [tool.lanescope] in pyproject.toml; the options of the command
take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from lanescope.app.kit.settings import LOCAL_SITE
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, quote_value, shorten_value

SECONDS, LEAST_SECONDS, MOST_SECONDS = 60.0, 0.1, 86_400  # of one file
MOST_JOBS = 32  # files that are checked at once
LEVELS = ("error", "warning", "unverified")
_RANGES = {"seconds": (LEAST_SECONDS, MOST_SECONDS), "jobs": (1, MOST_JOBS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The checked files and codes, and the severity that fails. Paths of a file are relative to its folder."""

    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str = ""
    compile_commands: str = ""
    target: str = ""  # any
    fail_on: str = "error"
    seconds: float = SECONDS
    jobs: int = 0
    site: str = LOCAL_SITE

    def override(self, **options: Any) -> CheckSettings:
        """Return the settings with the options of the command: lists are extended, other values replaced."""
        changes: dict[str, Any] = {}
        for name, value in options.items():
            if value is None or value == () or value == []:
                continue
            adds = name in ("include", "define", "exclude")
            changes[name] = (*getattr(self, name), *value) if adds else tuple(value) if _is_list(value) else value
        return replace(self, **changes)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def find_settings(folder: Path) -> CheckSettings:
    """Return the settings of the nearest lanescope.toml, or pyproject.toml that has some, of a folder and those above
    it.
    """
    for home in (folder, *folder.parents):
        for name in ("lanescope.toml", "pyproject.toml"):
            path = home / name
            table = _read_table(path) if path.is_file() else None
            if table is not None:
                return _parse_table(table, path)
    return CheckSettings()


def _read_table(path: Path) -> Mapping[str, Any] | None:
    """Read the settings of a file; None if it has none."""
    import tomllib

    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        if path.name == "pyproject.toml":  # another tool's business
            return None
        raise _refuse(path, str(error)[:120]) from None
    if path.name == "lanescope.toml":
        return table
    section = table.get("tool", {}).get("lanescope")
    return section if isinstance(section, Mapping) else None


def _refuse(path: Path, why: str, hint: str = "docs/check.md lists the settings.") -> LayoutError:
    return LayoutError("bad_usage", f"{shorten_value(str(path), 200)}: {why}.", hint)


def _parse_table(table: Mapping[str, Any], path: Path) -> CheckSettings:
    known = {field.name.replace("_", "-"): field.name for field in fields(CheckSettings)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise _refuse(path, f"{quote_value(key)} is not a setting", f"Settings: {', '.join(known)}.")
        name = known[key]
        values[name] = _convert(value, name, path)
    home = path.parent
    for name in ("include", "baseline", "compile_commands"):
        if values.get(name):
            paths = values[name]
            values[name] = (
                tuple(_locate(home, path_name) for path_name in paths) if _is_list(paths) else _locate(home, paths)
            )
    if "fail_on" in values:
        values["fail_on"] = parse_choice(values["fail_on"], "fail-on", LEVELS)
    if values.get("target"):
        from lanescope.ptx.targets import TARGETS  # help needs no table

        values["target"] = parse_choice(values["target"], "target", TARGETS, "unknown_target")
    return CheckSettings(**values)


def _locate(home: Path, name: str) -> str:
    """Return a path of a settings file relative to the working directory, if possible."""
    path = home / name
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _convert(value: Any, name: str, path: Path) -> Any:
    """Convert a value of a settings file to its field's type."""
    default = getattr(CheckSettings(), name)
    if isinstance(default, tuple):
        if name == "define" and isinstance(value, Mapping):
            return tuple(f"{key}={item}" for key, item in value.items())
        if _is_list(value) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise _refuse(path, f"{_spell(name)} is {quote_value(value)}, not a list of texts")
    if name in _RANGES:
        return _convert_number(value, name, path)
    if isinstance(value, str):
        return value
    raise _refuse(path, f"{_spell(name)} is {quote_value(value)}, not a text")


def _convert_number(value: Any, name: str, path: Path) -> float:
    """Convert a number of a settings file, and check its range."""
    least, most = _RANGES[name]
    is_integer = isinstance(getattr(CheckSettings(), name), int)
    number = isinstance(value, int if is_integer else int | float) and not isinstance(value, bool)
    if number and least <= value <= most:
        return int(value) if is_integer else float(value)
    kind = "an integer" if is_integer else "a number"
    raise _refuse(path, f"{_spell(name)} is {quote_value(value)}, not {kind} from {least} to {most}")


def _spell(name: str) -> str:
    """Return the name of a setting in the file."""
    return name.replace("_", "-")


def is_excluded(path: Path, patterns: Sequence[str]) -> bool:
    """Return whether a path, a folder of it, or the name of either matches one of the patterns."""
    parts = [path, *path.parents]
    return any(part.match(pattern.rstrip("/")) for pattern in patterns for part in parts if part.name)
