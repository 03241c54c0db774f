"""Log lines, as text or as one JSON object per line, each with its request id."""

from __future__ import annotations

import contextvars
import logging
import time
from typing import Any

from lanescope.app.kit.encoding import encode_json

REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
ACCESS = logging.getLogger("lanescope.access")
FACTS = ("client", "method", "path", "status", "ms")  # fields of an access line besides its message


class JsonFormatter(logging.Formatter):
    """Format {"time", "level", "logger", "message", "request_id"}, FACTS of an access line, and a traceback under
    "error".
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": REQUEST_ID.get(),
        }
        line |= {name: getattr(record, name) for name in FACTS if hasattr(record, name)}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return encode_json(line).decode()


class TextFormatter(logging.Formatter):
    """Format time, level, message and request id."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        identity = REQUEST_ID.get()
        head, newline, rest = super().format(record).partition("\n")
        return head + (f"  [{identity}]" if identity else "") + newline + rest


def build_config(log_format: str) -> dict[str, Any]:
    """Return the logging configuration for uvicorn and this project."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": JsonFormatter if log_format == "json" else TextFormatter}},
        "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {
            name: {"handlers": ["out"], "level": "INFO", "propagate": False} for name in ("uvicorn", "lanescope")
        },
    }
