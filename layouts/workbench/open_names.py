"""Names within open values: `-D` takes them, and the page has a field for each."""

from __future__ import annotations

import re

from lanescope.workbench.results import Assumption

NAME = re.compile(r"(?<![\w….])[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*")
_CALLED = re.compile(r"[\w:.>-]+\s*\(")
SAID_AS, GIVEN_AS = "the text gives it as", "give it as"  # before the name of an open value
SPOKEN = frozenset("int uint unsigned long char short bool sizeof decltype typename template".split())


def add_open_names(assumed: dict[str, Assumption]) -> None:
    """Add the names within each open value that is a term; each can be given by -D."""
    for assumption in [one for one in assumed.values() if one.missing]:
        term = assumption.label if assumption.key.startswith("at.") else find_open_name(assumption)
        if "…" in term or "another value" in term:  # not the whole term
            continue
        for name in NAME.findall(_CALLED.sub("(", term)):
            if name not in SPOKEN and "->" not in name and f"at.{name}" not in assumed:
                assumed.setdefault(
                    f"macro.{name}", Assumption(f"macro.{name}", name, "", f"{assumption.label} depends on it")
                )


def find_open_name(assumption: Assumption) -> str:
    """Return the text's own words for a value that it leaves open; "" if it has none."""
    match = re.search(rf"(?:{SAID_AS}|{GIVEN_AS}) (\S.*)$", assumption.why)
    return match[1] if match else ""
