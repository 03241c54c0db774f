"""Names within unknown values: `-D` sets them, and the page has a field for each."""

from __future__ import annotations

import re

from lanescope.inputs import join_words
from lanescope.workbench.results import Assumption

NAME = re.compile(r"(?<![\w….%])[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*(?![\w:.>-]*[…'])")
SAID_AS, GIVEN_AS = "the text gives it as", "give it as"  # before the name of an open value
SPOKEN = frozenset(
    "int uint unsigned long char short bool float double void auto const sizeof decltype typename template"
    " defined and or not xor bitand bitor compl not_eq".split()
)
_CALLED = re.compile(r"[\w:.>-]+(?:\s*\(|<(?![\s=]))")
_TYPE = re.compile(r"u?int\d*_t|size_t|uintptr_t")
_PHRASE = re.compile(r"\b(?:another value|several values)\b")
_OF_THREADS = re.compile(r"(?:threadIdx|blockIdx|clusterIdx)(?:\.[xyz])?|laneid|warpid")  # differ within one launch


def list_names(term: str, functions: bool = True) -> tuple[str, ...]:
    """List the names in a term, each once, without types, keywords and truncated names.

    functions: whether names of called functions are among them.

    >>> list_names("(BM / 64)·p.pitch + (uint32_t)rows + thre…82b855a1"), list_names("BM == 64 and not wide")
    (('BM', 'p.pitch', 'rows'), ('BM', 'wide'))
    """
    term = _PHRASE.sub(" ", term if functions else _CALLED.sub("(", term))
    found = NAME.findall(term)
    return tuple(name for name in dict.fromkeys(found) if name not in SPOKEN and not _TYPE.fullmatch(name))


def can_be_given(name: str) -> bool:
    """Return whether a name has one value for a complete launch, so that -D can set it.

    >>> can_be_given("BK"), can_be_given("threadIdx.x"), can_be_given("…")
    (True, False, False)
    """
    return NAME.fullmatch(name) is not None and "->" not in name and not _OF_THREADS.fullmatch(name)


def differs_in_threads(term: str) -> bool:
    """Return whether a term has the index of a thread, so that it has no one value.

    >>> differs_in_threads("(threadIdx.x / 128 - 1) & 15"), differs_in_threads("K / 64")
    (True, False)
    """
    return any(_OF_THREADS.fullmatch(name) for name in list_names(term))


def describe_open_value(label: str) -> str:
    """Describe what an unknown value depends on: names, or a variable that differs from thread to thread.

    >>> describe_open_value("BK")
    'depends on BK: give its value'
    >>> describe_open_value("((threadIdx.x/128 - 1) == 1 ? 4 : 0)")
    'depends on threadIdx.x, which differs from thread to thread'
    """
    if NAME.fullmatch(label):
        return f"depends on {label}: give its value"
    names = list_names(label)
    settable = [name for name in names if can_be_given(name)]
    if settable:
        return f"depends on {join_words(settable)}: give {'its value' if len(settable) == 1 else 'their values'}"
    if names:
        return f"depends on {join_words(names)}, which differs from thread to thread"
    return "depends on a value that has no name"


def add_open_names(assumed: dict[str, Assumption]) -> None:
    """Add the names within each open value that is a term; each can be given by -D."""
    for assumption in [assumption for assumption in assumed.values() if assumption.missing]:
        term = assumption.label if assumption.key.startswith("at.") else find_open_name(assumption)
        if "…" in term or "another value" in term:  # not the whole term
            continue
        for name in list_names(term, functions=False):
            if can_be_given(name) and f"at.{name}" not in assumed:
                assumed.setdefault(
                    f"macro.{name}", Assumption(f"macro.{name}", name, "", f"{assumption.label} depends on it")
                )


def find_open_name(assumption: Assumption) -> str:
    """Return the source expression of an unknown value; "" if it has none."""
    match = re.search(rf"(?:{SAID_AS}|{GIVEN_AS}) (\S.*)$", assumption.why)
    return match[1] if match else ""
