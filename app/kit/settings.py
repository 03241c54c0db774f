"""What a server can be told: one row a setting. `lanescope serve --help`, LANESCOPE_… and docs/deploy.md are made from
it. No framework.

Plain dataclass fields instead of pydantic-settings: the command line builds its options from them, and `lanescope
--help` must not wait for pydantic to be imported.
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
LOG_FORMATS = ("text", "json")
Read = Callable[[Any, str], Any]  # (what was given, the setting's name) → the value; LayoutError `bad_setting`


def _refusal(given: Any, name: str, allowed: str) -> Exception:
    from lanescope.errors import LayoutError  # NumPy comes with it: --help does not wait for that
    from lanescope.reading import shown

    return LayoutError("bad_setting", f"{name} is '{shown(given)}'.", allowed, name)


def _whole(least: int, most: int) -> Read:
    def read(given: Any, name: str) -> int:
        from lanescope.reading import number

        return number(given, name, least, most, "bad_setting")

    return read


def _number(least: float, most: float) -> Read:
    def read(given: Any, name: str) -> float:
        try:
            found = float(given)
        except ValueError:
            found = -1.0
        if not least <= found <= most:
            raise _refusal(given, name, f"A number from {least:g} to {most:g}.")
        return found

    return read


def _text(given: Any, name: str) -> str:
    text = str(given).strip()
    if not text.isprintable():
        raise _refusal(given, name, "One line of text.")
    return text


def _one_of(*words: str) -> Read:
    def read(given: Any, name: str) -> str:
        if str(given).lower() not in words:
            raise _refusal(given, name, f"Allowed: {', '.join(words)}.")
        return str(given).lower()

    return read


def _yes(given: Any, name: str) -> bool:
    return _one_of("0", "1", "false", "true", "no", "yes")(given, name) in ("1", "true", "yes")


def _prefix(given: Any, name: str) -> str:
    text = _text(given, name).strip("/")
    if not re.fullmatch(r"[\w.-]*(/[\w.-]+)*", text, re.A) or ".." in text:
        raise _refusal(given, name, "A path such as /tools/lanescope: letters, digits, - _ and . in each part.")
    return f"/{text}" if text else ""


def _sources(given: Any, name: str) -> str:
    text = _text(given, name)
    if not re.fullmatch(r"[\w.:/*'-]+( [\w.:/*'-]+)*", text, re.A):
        raise _refusal(given, name, "'none', 'self', or origins with blanks between them.")
    return text


def _names(given: Any, name: str) -> str:
    return ",".join(part.strip() for part in _text(given, name).split(",") if part.strip())


def _peers(given: Any, name: str) -> str:
    text = _names(given, name)
    for part in text.split(",") if text not in ("", "*") else ():
        try:
            ipaddress.ip_network(part)
        except ValueError:
            raise _refusal(part, name, "Addresses or networks with commas: 127.0.0.1,10.0.0.0/8; or *.") from None
    return text


def _scheduler(given: Any, name: str) -> str:
    text = _text(given, name)
    found = re.fullmatch(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", text, re.A)
    if text and not (found and 0 < int(found[1]) < 1 << 16):
        raise _refusal(given, name, "tcp://host:8786, or tls://host:8786.")
    return text


def scheduler(given: str) -> str:
    """A scheduler's address, as an option or LANESCOPE_SCHEDULER says it; LayoutError where it is none."""
    return str(_scheduler(given, "scheduler"))


def tls_files(address: str, *files: str) -> None:
    """LayoutError where an address of tls:// lacks a file, where a file has no tls:// to serve, and where the files are
    none that a connection can be made with.
    """
    if address.startswith("tls://") and not all(files):
        raise _refusal(address, "scheduler", "tls:// needs tls_ca, tls_cert and tls_key.")
    if any(files) and not address.startswith("tls://"):
        raise _refusal(address, "scheduler", "tls_ca, tls_cert and tls_key are for tls://.")
    if address.startswith("tls://"):
        from lanescope.app.kit import tls

        tls.check(*files)


def _row(default: Any, read: Read, says: str) -> Any:
    return dataclasses.field(default=default, metadata={"read": read, "says": says})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default."""

    host: str = _row("127.0.0.1", _text, "Address to listen on.")
    port: int = _row(8000, _whole(0, 65535), "Port to listen on; 0 for a free one.")
    workers: int = _row(1, _whole(1, 64), "Processes, each with its own threads, caches and GPU workers.")
    root_path: str = _row(
        "",
        _prefix,
        "The path at which a proxy serves Lanescope, e.g. /tools/lanescope. The proxy may strip it or pass it on.",
    )
    trusted_proxies: str = _row(
        "",
        _peers,
        "Peers whose X-Forwarded-For and -Proto are trusted: comma-separated addresses or networks; * for all.",
    )
    trusted_hosts: str = _row(
        "*", _names, "Host names to answer for, comma-separated: example.org,*.example.org; * for all."
    )
    frame_ancestors: str = _row(
        "'self'",
        _sources,
        "Who may embed pages in a frame, in Content-Security-Policy syntax: 'none', 'self', https://docs.example.org.",
    )
    seconds: float = _row(
        5.0, _number(0.05, 600.0), "Seconds a request may take to compute or to send its body; then 503."
    )
    threads: int = _row(4, _whole(1, 64), "Requests computed at the same time.")
    waiting: int = _row(64, _whole(0, 10_000), "Requests that may wait for a thread; more are refused with 503.")
    rate: float = _row(
        0.0,
        _number(0.0, 1e6),
        "Computed requests per second and client; 429 above it. 0: no limit. Cached answers do not count.",
    )
    body_bytes: int = _row(256 << 10, _whole(1024, 64 << 20), "Largest body in bytes; 413 above it.")
    upload_bytes: int = _row(
        1 << 20, _whole(1024, 64 << 20), "Largest body with files, such as a memory dump; 413 above it."
    )
    capture_bytes: int = _row(16 << 20, _whole(1024, 64 << 20), "Largest body with captures of a kernel; 413 above it.")
    url_bytes: int = _row(8 << 10, _whole(256, 60 << 10), "Longest URL in bytes; 414 above it.")
    cache_bytes: int = _row(32 << 20, _whole(0, 1 << 40), "Bytes of answers cached in memory.")
    log_format: str = _row(
        "text",
        _one_of(*LOG_FORMATS),
        "text, or json: one object per line, with the request's ID.",
    )
    access_log: bool = _row(False, _yes, "Log every request.")
    shutdown_seconds: float = _row(
        10.0, _number(0.0, 600.0), "Seconds that requests in flight may take to finish after SIGTERM."
    )

    scheduler: str = _row(
        "",
        _scheduler,
        "Runs go to this Dask scheduler, tcp://host:8786 or tls://host:8786, instead of this machine's GPU.",
    )
    tls_ca: str = _row("", _text, "For tls://: the file of the authority's certificate.")
    tls_cert: str = _row("", _text, "For tls://: the file of this side's certificate.")
    tls_key: str = _row("", _text, "For tls://: the file of its key.")

    def __post_init__(self) -> None:
        for row in dataclasses.fields(self):
            object.__setattr__(self, row.name, row.metadata["read"](getattr(self, row.name), row.name))
        tls_files(self.scheduler, self.tls_ca, self.tls_cert, self.tls_key)

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings of LANESCOPE_… variables; LayoutError names a wrong one."""
        given = os.environ if environment is None else environment
        chosen: dict[str, Any] = {
            row.name: given[variable(row.name)]
            for row in dataclasses.fields(cls)
            if given.get(variable(row.name), "") != ""
        }
        return cls(**chosen)

    def environment(self) -> dict[str, str]:
        """The same as variables, for worker processes."""
        return {
            variable(row.name): str(int(value) if isinstance(value := getattr(self, row.name), bool) else value)
            for row in dataclasses.fields(self)
        }


def variable(name: str) -> str:
    """A setting's environment variable."""
    return PREFIX + name.upper()


def rows() -> list[tuple[str, str, str]]:
    """(name, default as text, what it says) of every setting."""
    return [
        (row.name, str(int(row.default) if isinstance(row.default, bool) else row.default), row.metadata["says"])
        for row in dataclasses.fields(Settings)
    ]
