"""The first sentences of a map page about its pins, from templates that its script fills as well."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lanescope.app.kit.answer import Answer, AnswerWords, PinnedPlace, count_held, join_answer, name_holders, name_mates
from lanescope.app.kit.maps.bench import HolderMap, MapBench, split_pin
from lanescope.app.kit.maps.find import format_example

OF_LANE = "lane / 4 = {group}, lane % 4 = {member}."


def build_words(bench: MapBench) -> AnswerWords:
    """Return the templates of a bench, or build them from its maps."""
    if bench.words is not None:
        return bench.words
    by_thread = bench.unit == "thread"
    return AnswerWords(
        invitation=f"Click a cell, or type one: {format_example(bench)}.",
        value=("Thread {thread} is lane {lane} of warp {warp}.",) * 2 if by_thread else ("", ""),
        mates=("", f"{bench.together} {{mates}}.", f"{bench.together} {{count}} more."),
        count="{count} values of {title}" if len(list_listed(bench)) > 1 else "{count} values",
        groups=f"It is thread {{thread}}; {OF_LANE}" if by_thread else "",
        together=f"Both are in the same {bench.unit}.",
        apart=f"They are in different {bench.unit}s.",
        product={},
        nobody=f"No {bench.unit} holds `{{element}}`",
    )


def get_element_template(bench: MapBench, holder_map: HolderMap) -> str:
    """Return the template of an element's name."""
    if holder_map.folded:
        return "element {index}"
    return "{title}({row},{col})" if len(list_listed(bench)) > 1 else "({row},{col})"


def list_listed(bench: MapBench) -> list[HolderMap]:
    """Return the maps whose elements are listed for a holder; the others show the same elements in another order."""
    return [holder_map for holder_map in bench.maps if holder_map.listed]


def get_line_template(bench: MapBench, holder_map: HolderMap) -> str:
    """Return the template of the first sentence about a cell of a map."""
    return holder_map.answer or (
        bench.answer if holder_map.listed else bench.answer.replace("{element}", f"({holder_map.text})")
    )


def format_holder(bench: MapBench, holder: int) -> str:
    """Return a holder's name in a headline."""
    if bench.unit == "thread":
        return f"warp {holder // bench.lanes}, lane {holder % bench.lanes}"
    return f"{bench.unit} {holder}"


def build_answer(bench: MapBench, look: Mapping[str, str]) -> Answer:
    """Return the first sentences about the pins, or the page's question."""
    words = build_words(bench)
    places = []
    for pin in filter(None, (look["pin"], look["pin2"])):
        name, row, col = split_pin(pin)
        if col is None:
            places.append(describe_holder(bench, words, row))
        else:
            places.append(_describe_cell(bench, words, bench.get_map(name), (row, col)))
    return join_answer(words, places)


def describe_holder(bench: MapBench, words: AnswerWords, holder: int) -> PinnedPlace:
    """Return the sentences about a pinned holder."""
    counts = [
        (holder_map.title, int((holder_map.cell[holder] >= 0).sum()))
        for holder_map in list_listed(bench)
        if holder < len(holder_map.cell) and not holder_map.shared
    ]
    line = count_held(words, format_holder(bench, holder), counts)
    lane = holder % bench.lanes
    return PinnedPlace(line, words.groups.format(thread=holder, group=lane // 4, member=lane % 4), holder)


def _describe_cell(bench: MapBench, words: AnswerWords, holder_map: HolderMap, place: tuple[int, int]) -> PinnedPlace:
    row, col = place
    at = row * holder_map.cols + col
    names = {"title": holder_map.title, "row": row, "col": col, "index": at}
    element = get_element_template(bench, holder_map)
    owners = np.argwhere(holder_map.cell == at).tolist()
    product = words.product.get(holder_map.name, "").format(**names)
    if not owners:
        return PinnedPlace(words.nobody.format(element=element.format(**names)), "", None)
    thread, value = owners[0]
    line = get_line_template(bench, holder_map)
    if holder_map.shared:
        return PinnedPlace(line.format(element=element.format(**names)), product, thread)
    held = [f"{holder_map.name}{other}" for holder, other in owners if holder == thread]
    facts = {
        **names,
        **{name: int(numbers[row, col]) for name, numbers in holder_map.fields.items()},
        "element": element.format(**names),
        "holder": format_holder(bench, thread),
        "thread": thread,
        "warp": thread // bench.lanes,
        "lane": thread % bench.lanes,
        "value": value,
        "names": " and ".join(held),
        "register": holder_map.group[value],
        "bits": holder_map.bits[value] if holder_map.bits else "",
    }
    mates = [
        element.format(title=holder_map.title, row=cell // holder_map.cols, col=cell % holder_map.cols, index=cell)
        for other, cell in enumerate(holder_map.cell[thread].tolist())
        if cell >= 0 and other != value and holder_map.group[other] == holder_map.group[value]
    ]
    others = list(dict.fromkeys(format_holder(bench, holder) for holder, _ in owners[1:] if holder != thread))
    sentences = (
        words.value[len(held) > 1].format(**facts),
        name_mates(words, mates, holder_map.per_register),
        name_holders(words, others),
        product,
    )
    return PinnedPlace(line.format(**facts), " ".join(filter(None, sentences)), thread)
