"""The editor's settings under `lanescope`, in addition to those of the workspace's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lanescope.app.check.config import CheckSettings
from lanescope.app.kit.settings import LOCAL_SITE
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, quote_value
from lanescope.ptx.targets import TARGETS

PICTURES = ("text", "svg", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorSettings:
    """server: the address that links lead to, "" for the one of the workspace's files; picture: how a hover draws;
    notes: whether open questions are shown; define, include, target: as options of check.
    """

    server: str = ""
    picture: str = "text"
    notes: bool = False
    define: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    target: str = ""

    def apply(self, settings: CheckSettings, root: Path) -> CheckSettings:
        """Return the settings of the workspace with those of the editor over them."""
        include = [str(root / folder) for folder in self.include]
        return settings.override(
            define=self.define, include=include, target=self.target or None, site=self.server or None
        )


def parse_settings(sent: object) -> EditorSettings:
    """Parse the settings of an editor, an object or one under `lanescope`. LayoutError for an unknown name or a wrong
    value.
    """
    if sent is None:
        return EditorSettings()
    if not isinstance(sent, Mapping):
        raise _refuse("lanescope", sent, "an object")
    inner = sent.get("lanescope")
    values: Mapping[str, Any] = inner if isinstance(inner, Mapping) else sent
    check_keys(values, [field.name for field in fields(EditorSettings)], "lanescope")
    chosen = {name: value for name, value in values.items() if value is not None}
    return EditorSettings(**{name: _PARSERS[name](value, name) for name, value in chosen.items()})


def _parse_server(value: object, name: str) -> str:
    if isinstance(value, str) and (not value or _is_address(value)):
        return value.rstrip("/")
    raise _refuse(name, value, f"an address such as {LOCAL_SITE}")


def _is_address(text: str) -> bool:
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:  # brackets that are no IPv6 address
        return False


def _parse_words(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise _refuse(name, value, "a list of texts")


def _parse_defines(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, Mapping):
        return _parse_words(value, name)
    if wrong := [key for key, item in value.items() if isinstance(item, bool) or not isinstance(item, int | str)]:
        raise _refuse(f"{name}.{wrong[0]}", value[wrong[0]], "an integer or text")
    return tuple(f"{key}={item}" for key, item in value.items())


def _parse_flag(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _refuse(name, value, "true or false")


def _parse_picture(value: object, name: str) -> str:
    return parse_choice(value, name, PICTURES)


def _parse_target(value: object, name: str) -> str:
    return parse_choice(value, name, TARGETS, "unknown_target") if value else ""


_PARSERS: dict[str, Callable[[object, str], Any]] = {
    "server": _parse_server,
    "picture": _parse_picture,
    "notes": _parse_flag,
    "define": _parse_defines,
    "include": _parse_words,
    "target": _parse_target,
}


def _refuse(name: str, value: object, allowed: str) -> LayoutError:
    return LayoutError("bad_setting", f"lanescope.{name} is {quote_value(value)}.", f"It is {allowed}.", name)
