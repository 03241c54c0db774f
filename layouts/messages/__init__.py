"""Explain messages of ptxas, of the driver's tensor maps and of CuTe: reason, change, and the smallest program.

>>> from lanescope.messages import recognise_messages
>>> [message.row.slug for message in recognise_messages("ptxas fatal : Unknown modifier '.m64n12k16'").found]
['unknown-modifier']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lanescope.messages.row import SOURCES as SOURCES, MessageRow as MessageRow

if TYPE_CHECKING:
    from lanescope.messages.recognise import (
        FoundMessage as FoundMessage,
        MessageReading as MessageReading,
        clean_message as clean_message,
        list_numbered as list_numbered,
        recognise_messages as recognise_messages,
    )
    from lanescope.messages.table import BY_SLUG as BY_SLUG, GROUPS as GROUPS, ROWS as ROWS

# Imported on first use, because a device's worker uses only this package's rules for tensor maps.
_HOMES = {
    **dict.fromkeys(
        ("FoundMessage", "MessageReading", "clean_message", "list_numbered", "recognise_messages"), "recognise"
    ),
    **dict.fromkeys(("BY_SLUG", "GROUPS", "ROWS"), "table"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
