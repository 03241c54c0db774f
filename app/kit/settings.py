"""The server's settings, one row each: `lanescope serve --help`, LANESCOPE_… variables and docs/deploy.md derive from
it.

Plain dataclass fields instead of pydantic-settings: the command line builds its options from them, and `lanescope
--help` must not import pydantic.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "LANESCOPE_"
HOST, PORT = "127.0.0.1", 8000
LOCAL_SITE = f"http://{HOST}:{PORT}"  # default address of `lanescope serve`
LOG_FORMATS = ("text", "json")
Parse = Callable[[Any, str], Any]  # (text, name of the setting) → value; LayoutError `bad_setting`


def _make_error(value: Any, name: str, allowed: str) -> Exception:
    from lanescope.errors import LayoutError  # imports NumPy, which --help does not need
    from lanescope.inputs import shorten_value

    return LayoutError("bad_setting", f"{name} is '{shorten_value(value)}'.", allowed, name)


def _make_integer_parser(least: int, most: int) -> Parse:
    def parse_setting(value: Any, name: str) -> int:
        from lanescope.inputs import parse_integer

        return parse_integer(value, name, least, most, "bad_setting")

    return parse_setting


def _make_number_parser(least: float, most: float) -> Parse:
    def parse_setting(value: Any, name: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not least <= number <= most:
            raise _make_error(value, name, f"A number from {least:g} to {most:g}.")
        return number

    return parse_setting


def _parse_text(value: Any, name: str) -> str:
    text = str(value).strip()
    if not text.isprintable():
        raise _make_error(value, name, "One line of text.")
    return text


def _make_word_parser(*words: str) -> Parse:
    def parse_setting(value: Any, name: str) -> str:
        if str(value).lower() not in words:
            raise _make_error(value, name, f"Allowed: {', '.join(words)}.")
        return str(value).lower()

    return parse_setting


def _parse_flag(value: Any, name: str) -> bool:
    return _make_word_parser("0", "1", "false", "true", "no", "yes")(value, name) in ("1", "true", "yes")


def _parse_prefix(value: Any, name: str) -> str:
    text = _parse_text(value, name).strip("/")
    if not re.fullmatch(r"[\w.-]*(/[\w.-]+)*", text, re.A) or ".." in text:
        raise _make_error(value, name, "A path such as /tools/lanescope: letters, digits, - _ and . in each part.")
    return f"/{text}" if text else ""


def _parse_sources(value: Any, name: str) -> str:
    text = _parse_text(value, name)
    if not re.fullmatch(r"[\w.:/*'-]+( [\w.:/*'-]+)*", text, re.A):
        raise _make_error(value, name, "'none', 'self', or origins with blanks between them.")
    return text


def _parse_names(value: Any, name: str) -> str:
    return ",".join(part.strip() for part in _parse_text(value, name).split(",") if part.strip())


def _parse_peers(value: Any, name: str) -> str:
    text = _parse_names(value, name)
    for part in text.split(",") if text not in ("", "*") else ():
        try:
            ipaddress.ip_network(part)
        except ValueError:
            raise _make_error(part, name, "Addresses or networks with commas: 127.0.0.1,10.0.0.0/8; or *.") from None
    return text


def _parse_scheduler(value: Any, name: str) -> str:
    text = _parse_text(value, name)
    match = re.fullmatch(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", text, re.A)
    if text and not (match and 0 < int(match[1]) < 1 << 16):
        raise _make_error(value, name, "tcp://host:8786, or tls://host:8786.")
    return text


def parse_scheduler(text: str) -> str:
    """Parse a scheduler's address, from an option or LANESCOPE_SCHEDULER."""
    return str(_parse_scheduler(text, "scheduler"))


def check_tls_files(address: str, *files: str) -> None:
    """Raise LayoutError if a tls:// address lacks a file, files are given without tls://, or no connection can be made
    with them.
    """
    if address.startswith("tls://") and not all(files):
        raise _make_error(address, "scheduler", "tls:// needs tls_ca, tls_cert and tls_key.")
    if any(files) and not address.startswith("tls://"):
        raise _make_error(address, "scheduler", "tls_ca, tls_cert and tls_key are for tls://.")
    if address.startswith("tls://"):
        from lanescope.app.kit import tls

        tls.check_tls(*files)


def _make_setting(default: Any, parse: Parse, help_text: str) -> Any:
    return dataclasses.field(default=default, metadata={"parse": parse, "says": help_text})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default."""

    host: str = _make_setting(HOST, _parse_text, "Address to listen on.")
    port: int = _make_setting(PORT, _make_integer_parser(0, 65535), "Port to listen on; 0 for a free one.")
    workers: int = _make_setting(
        1, _make_integer_parser(1, 64), "Processes, each with its own threads, caches and GPU workers."
    )
    root_path: str = _make_setting(
        "",
        _parse_prefix,
        "The path at which a proxy serves Lanescope, e.g. /tools/lanescope. The proxy may strip it or pass it on.",
    )
    trusted_proxies: str = _make_setting(
        "",
        _parse_peers,
        "Peers whose X-Forwarded-For and -Proto are trusted: comma-separated addresses or networks; * for all.",
    )
    trusted_hosts: str = _make_setting(
        "*", _parse_names, "Host names to answer for, comma-separated: example.org,*.example.org; * for all."
    )
    frame_ancestors: str = _make_setting(
        "'self'",
        _parse_sources,
        "Who may embed pages in a frame, in Content-Security-Policy syntax: 'none', 'self', https://docs.example.org.",
    )
    seconds: float = _make_setting(
        5.0, _make_number_parser(0.05, 600.0), "Seconds a request may take to compute or to send its body; then 503."
    )
    threads: int = _make_setting(4, _make_integer_parser(1, 64), "Requests computed at the same time.")
    waiting: int = _make_setting(
        64, _make_integer_parser(0, 10_000), "Requests that may wait for a thread; more are refused with 503."
    )
    rate: float = _make_setting(
        0.0,
        _make_number_parser(0.0, 1e6),
        "Computed requests per second and client; 429 above it. 0: no limit. Cached answers do not count.",
    )
    body_bytes: int = _make_setting(
        256 << 10, _make_integer_parser(1024, 64 << 20), "Largest body in bytes; 413 above it."
    )
    upload_bytes: int = _make_setting(
        1 << 20, _make_integer_parser(1024, 64 << 20), "Largest body with files, such as a memory dump; 413 above it."
    )
    capture_bytes: int = _make_setting(
        16 << 20, _make_integer_parser(1024, 64 << 20), "Largest body with captures of a kernel; 413 above it."
    )
    url_bytes: int = _make_setting(8 << 10, _make_integer_parser(256, 60 << 10), "Longest URL in bytes; 414 above it.")
    cache_bytes: int = _make_setting(32 << 20, _make_integer_parser(0, 1 << 40), "Bytes of answers cached in memory.")
    log_format: str = _make_setting(
        "text",
        _make_word_parser(*LOG_FORMATS),
        "text, or json: one object per line, with the request's ID.",
    )
    access_log: bool = _make_setting(False, _parse_flag, "Log every request.")
    shutdown_seconds: float = _make_setting(
        10.0, _make_number_parser(0.0, 600.0), "Seconds that requests in flight may take to finish after SIGTERM."
    )

    scheduler: str = _make_setting(
        "",
        _parse_scheduler,
        "Runs go to this Dask scheduler, tcp://host:8786 or tls://host:8786, instead of this machine's GPU.",
    )
    tls_ca: str = _make_setting("", _parse_text, "For tls://: the file of the authority's certificate.")
    tls_cert: str = _make_setting("", _parse_text, "For tls://: the file of this side's certificate.")
    tls_key: str = _make_setting("", _parse_text, "For tls://: the file of its key.")

    def __post_init__(self) -> None:
        for row in dataclasses.fields(self):
            object.__setattr__(self, row.name, row.metadata["parse"](getattr(self, row.name), row.name))
        check_tls_files(self.scheduler, self.tls_ca, self.tls_cert, self.tls_key)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from LANESCOPE_… variables; LayoutError names a wrong one."""
        variables = os.environ if environment is None else environment
        chosen: dict[str, Any] = {
            row.name: variables[name_variable(row.name)]
            for row in dataclasses.fields(cls)
            if variables.get(name_variable(row.name), "") != ""
        }
        return cls(**chosen)

    def to_environment(self) -> dict[str, str]:
        """Return the settings as environment variables, for worker processes."""
        return {
            name_variable(row.name): str(int(value) if isinstance(value := getattr(self, row.name), bool) else value)
            for row in dataclasses.fields(self)
        }


def name_variable(name: str) -> str:
    """Return a setting's environment variable."""
    return PREFIX + name.upper()


def list_settings() -> list[tuple[str, str, str]]:
    """List (name, default as text, help) of every setting."""
    return [
        (row.name, str(int(row.default) if isinstance(row.default, bool) else row.default), row.metadata["says"])
        for row in dataclasses.fields(Settings)
    ]
