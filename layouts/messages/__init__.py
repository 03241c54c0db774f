"""Messages of ptxas, of the driver's tensor maps and of CuTe: the reason, the change, and the smallest program.

>>> [one.row.slug for one in recognise_messages("ptxas fatal : Unknown modifier '.m64n12k16'").found]
['unknown-modifier']
"""

from lanescope.messages.recognise import FoundMessage, MessageReading, clean_message, list_numbered, recognise_messages
from lanescope.messages.row import SOURCES, MessageRow
from lanescope.messages.table import BY_SLUG, GROUPS, ROWS

__all__ = [
    "BY_SLUG",
    "GROUPS",
    "ROWS",
    "SOURCES",
    "FoundMessage",
    "MessageReading",
    "MessageRow",
    "clean_message",
    "list_numbered",
    "recognise_messages",
]
