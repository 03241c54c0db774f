"""Targets and GPUs that a text names: the page of their features, and how many of the named instructions they have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.app.catalogue import full_text
from lanescope.app.read.facts import Meaning
from lanescope.inputs import join_words
from lanescope.names import forms, vocabulary
from lanescope.ptx import catalog
from lanescope.ptx.architectures import ARCHITECTURES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import TARGETS, find_nearest_target, get_widest, list_least, strip_suffix

NOTICE = "Families, types and shapes, what it lacks, and the limits of a block."
MOST_TARGETS = 3  # pages in an answer
_OLDER = {"volta": "sm_70", "v100": "sm_70", "titan v": "sm_70", "xavier": "sm_72"}  # none that ptxas still lists
_SERIES = {name[4:]: row.name for row in ARCHITECTURES for name in row.gpus if re.fullmatch(r"RTX \d\d", name)}
_ABOUT = frozenset(  # words of a question about a target itself
    """architecture architectures budget capability card cards chip cluster clusters compute core cores cuda data dgx
    feature features fit fits geforce generation gpu gpus graphics has instruction instructions jetson kb lack lacks
    largest limit limits max maximum memory most much new nvidia occupancy per ptx register registers rtx shape shapes
    shared size sizes smem sm super support supported supports target targets tensor ti type types tensorcore v
    """.split()
)
_ASKING = re.compile(r"\s*(?:does|do|is|are|can|has|have|will|which)\b", re.I)
_CAPABILITY = r"(?:compute[ _-]?capability|capability|cc)\s*(?P<major>\d{1,2})\.(?P<minor>\d)"
_TARGET = r"(?:sm|compute)[_ ]?(?P<number>\d{2,3})(?P<suffix>[a-z]?)"
_RTX = r"(?:rtx|geforce)\s*(?:rtx\s*)?(?P<series>[2-5]0)(?:\d0)?(?:\s*(?:ti|super|series))*"
_LONE_CARD = r"(?P<lone>[2-5]0)[5-9]0"  # 4090, as a whole text
_CHIPS = {
    name: spellings[0]
    for name, spellings in vocabulary.SYNONYMS.items()
    if spellings[0].startswith("sm_") and not name.startswith("sm_")
}
_NAMED = re.compile(
    rf"(?<![\w.:])(?:{_CAPABILITY}|{_TARGET}|{_RTX}|(?P<chip>{'|'.join((*_OLDER, *_CHIPS))}))(?![\w:]|\.\w)", re.I
)


@dataclass(frozen=True, slots=True)
class NamedTargets:
    """The targets that a text names, as ptxas would call them, and the rest of the text."""

    names: tuple[str, ...]
    rest: str


def find_targets(text: str) -> NamedTargets:
    """Find the targets that a text names: by their names, compute capabilities, GPUs and architectures.

    >>> find_targets("does an RTX 4090 have fp8"), find_targets("cc 9.0").names
    (NamedTargets(names=('sm_89',), rest='does an  have fp8'), ('sm_90',))
    """
    if lone := re.fullmatch(_LONE_CARD, text.strip()):
        return NamedTargets((get_widest(_SERIES[lone["lone"]]),), "")
    names = dict.fromkeys(name for match in _NAMED.finditer(text) for name in _name_targets(match))
    return NamedTargets(tuple(names), _NAMED.sub("", text))


def _name_targets(match: re.Match[str]) -> tuple[str, ...]:
    if match["major"]:
        return (f"sm_{match['major']}{match['minor']}",)
    if match["number"]:
        return (f"sm_{match['number']}{match['suffix'].lower()}",)
    if match["series"]:
        return (get_widest(_SERIES[match["series"]]),)
    chip = match["chip"].lower()
    return (_OLDER[chip],) if chip in _OLDER else vocabulary.SYNONYMS[chip]


def _find_asked(text: str, rest: str) -> forms.FormMatches | None:
    """Return the instructions that a question is about; None if it names none, or filters a list: `wgmma h100`.

    rest: the text without the targets and the words of the question.
    """
    matches, of_whole_text = forms.find_forms(rest), forms.find_forms(text)
    if of_whole_text.forms and not (of_whole_text.ignored or _ASKING.match(text)):
        return None
    is_question = matches.forms and matches.spelled_out and not matches.ignored and full_text.is_asked(rest)
    return matches if is_question else None


def describe_targets(text: str) -> list[Meaning]:
    """Describe the targets that a question is about, with the instructions that it names; [] for any other text."""
    if len(text) > full_text.LONGEST:
        return []
    targets = find_targets(text)
    words = [word for word in re.findall(r"[a-z0-9_.:]+", targets.rest.lower()) if word not in vocabulary.SILENT]
    if not targets.names or len(targets.names) > MOST_TARGETS:
        return []
    if all(word in _ABOUT or word in full_text.SILENT for word in words):
        return [meaning for name in targets.names for meaning in describe_target(name)]
    matches = _find_asked(text, " ".join(word for word in words if word not in _ABOUT))
    if matches is None:
        return []
    return [
        meaning
        for name in targets.names
        for meaning in describe_target(name, _count_forms(name, matches.words, matches.forms))
    ]


def describe_target(name: str, first: str = "") -> list[Meaning]:
    """Describe the page of a target, or the possible meaning of a name that ptxas does not list. first: a sentence
    before those of the page.
    """
    known = name if name in TARGETS else find_nearest_target(name)
    shown = f"What {known} has" if known else "What each GPU has"
    page = f"/targets?target={known}" if known else "/targets"
    notices = tuple(filter(None, (first, NOTICE)))
    meaning = Meaning(kind="topic", title=shown, link=page, facts={"page": page}, notices=notices)
    if known == name:
        return [meaning]
    why = f"{catalog.get_assembler_release()} has no target '{name}'."
    why += f" Did you mean {known}?" if known else f" It has {join_words([row.name for row in ARCHITECTURES])}."
    unknown = Meaning(kind="unknown", title=f"No target '{name}'", link=f"/read?text={name}", facts={}, notices=(why,))
    return [unknown, meaning]


def _count_forms(name: str, words: tuple[str, ...], instructions: tuple[Instruction, ...]) -> str:
    """Describe how many of these forms a target has, and where the others are; "" for a target unknown to ptxas."""
    if name not in TARGETS:
        return ""
    every = [(form, catalog.get_target_support(form).targets) for form in instructions]
    what = f"{len(every):,} instruction{'s' * (len(every) != 1)} with '{' '.join(words)}'"
    count = sum(name in targets for _, targets in every)
    if count:
        return (
            f"{name} has {count:,} of the {what}." if len(every) > 1 else f"{name} has the one instruction with them."
        )
    none = f"{name} has none of the {what}" if len(every) > 1 else f"{name} does not have '{' '.join(words)}'"
    widest = get_widest(strip_suffix(name))
    there = sum(widest in targets for _, targets in every)
    if there:
        return f"{none}; {widest} has {f'{there:,}' if len(every) > 1 else 'it'}."
    elsewhere = join_words(list_least({target for _, targets in every for target in targets}))
    return f"{none}. {'They assemble' if len(every) > 1 else 'It assembles'} for {elsewhere}."
