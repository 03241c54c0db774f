"""Facts and sentences about a formula or a loop that was compared with every operand (fragment_code.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lanescope.inputs import join_words
from lanescope.ptx.fragment_maps import FragmentMap
from lanescope.reader.fragment_addresses import AddressMap
from lanescope.reader.fragment_code import FormulaAnswer, FormulaMatch, compare_code, is_fragment_code
from lanescope.reader.fragment_parts import HeldValues
from lanescope.reader.meaning import TextMeaning

MOST_HALVES = 12  # maps that are listed of half a formula


def recognise_fragment_code(text: str) -> tuple[TextMeaning, ...]:
    """Recognise a formula of rows and columns, or the loop that moves a fragment; LayoutError if it is open."""
    if not is_fragment_code(text):
        return ()
    answer = compare_code(text)
    agree = [match for match in answer.matches if (answer.moves or not match.swapped) and not answer.half]
    facts = {
        "agree": [describe_match(match, answer) for match in agree if match.map.values >= answer.least],
        "begin": [describe_match(match, answer) for match in agree if match.map.values < answer.least],
        "half": [describe_match(match, answer) for match in answer.matches[:MOST_HALVES] if answer.half],
        "exchanged": [describe_match(match, answer) for match in answer.matches if match.swapped and not answer.moves],
        "part": [describe_part(held, answer.letter) for held in answer.parts],
        "addresses": [describe_address(address) for address in answer.addresses],
        "nearest": _describe_nearest(answer),
        "compared": answer.compared,
        "assumed": list(answer.assumed),
        "named": answer.letter or None,
    }
    return (TextMeaning("fragment", _make_title(answer), facts, tuple(_list_notices(answer)), sure=True),)


def list_held(fragment_map: FragmentMap, letter: str) -> list[dict[str, Any]]:
    """List the operands with a map, one of each opcode, shape and element size: name, PTX, operand's letter.

    letter: the operand that the text names, which comes first.
    """
    groups: dict[tuple[str, str, int], list[tuple[str, str, str]]] = {}
    for instruction, operand in fragment_map.operands:
        opcode = instruction.family.name.replace("_sp", ".sp").replace("_scaled", ".block_scale")
        trans = ".trans" * (".trans" in instruction.ptx)
        key = (
            f"{opcode}.{instruction.shape}{trans}",
            "" if operand.name in "cd" else operand.name,
            operand.container_bits,
        )
        groups.setdefault(key, []).append((operand.name, operand.element.name, instruction.ptx))
    indices = []
    for (head, _, _), parts in groups.items():
        letters = " and ".join(sorted({name.upper() for name, _, _ in parts})) if parts[0][0] != "data" else "a matrix"
        types = ", ".join(dict.fromkeys(kind for _, kind, _ in parts))
        indices.append({"name": f"{letters} of {head} {types}", "ptx": parts[0][2], "operand": parts[0][0]})
    counts = Counter(_group_letters(part["operand"]) for part in indices)
    letters = "cd" if letter in ("c", "d") else letter

    def rank(part: dict[str, Any]) -> tuple[bool, int]:
        return not letters or part["operand"] not in letters, -counts[_group_letters(part["operand"])]

    return sorted(indices, key=rank)


def _group_letters(operand: str) -> str:
    """Return an operand's letter, the same for c and d."""
    return "cd" if operand in ("c", "d") else operand


def name_map(fragment_map: FragmentMap, letter: str) -> str:
    """Name the operands of a map: the first ones of the letter, else of each letter."""
    indices = list_held(fragment_map, letter)
    firsts = {_group_letters(part["operand"]): str(part["name"]) for part in reversed(indices)}
    names = [indices[0]["name"]] if fragment_map.has_operand(letter) else list(firsts.values())[::-1]
    more = len(indices) - len(names)
    return f"{join_words(names)} (and {more} more with the same map)" if more else join_words(names)


def describe_part(part: HeldValues, letter: str) -> dict[str, Any]:
    """Describe a map that contains a text's values."""
    return {
        "name": name_map(part.map, letter),
        "threads": part.map.threads,
        "values": part.map.values,
        "held": list(part.values),
        "operands": list_held(part.map, letter),
    }


def name_values(indices: Sequence[int]) -> str:
    """Name values by index: `value 0`, `values 2 and 3`."""
    return f"value{'s' * (len(indices) > 1)} {join_words([str(n) for n in indices])}"


def describe_match(match: FormulaMatch, answer: FormulaAnswer) -> dict[str, Any]:
    """Describe a matching map."""
    order = ("column-major" if match.swapped else "row-major") if answer.moves else None
    return {
        "name": name_map(match.map, answer.letter),
        "threads": match.map.threads,
        "values": match.map.values,
        "times": match.times,
        "order": order,
        "operands": list_held(match.map, answer.letter),
    }


def describe_address(address_map: AddressMap) -> dict[str, Any]:
    """Describe the load whose row addresses a formula gives."""
    major = "K" if address_map.major == "K" else "M" if address_map.operand == "a" else "N"
    load = address_map.load.ptx.replace(".sync.aligned", "").replace(".shared.b16", "")
    kind = f"{address_map.mma.operand(address_map.operand).container_bits}-bit"
    name = (
        f"Row addresses of {load} for {address_map.operand.upper()} of {address_map.mma.shape}, {kind}, {major}-major"
    )
    return {
        "name": name,
        "ptx": address_map.load.ptx,
        "mma": address_map.mma.ptx,
        "operand": address_map.operand,
        "major": address_map.major,
    }


def _describe_nearest(answer: FormulaAnswer) -> dict[str, Any] | None:
    nearest = answer.nearest
    if nearest is None:
        return None
    thread, value, computed, actual = nearest.first
    return {
        "name": name_map(nearest.map, answer.letter),
        "values": nearest.map.values,
        "agree": nearest.agree,
        "total": nearest.total,
        "first_difference": {"thread": thread, "value": value, "formula": list(computed), "operand": list(actual)},
        "operands": list_held(nearest.map, answer.letter),
    }


def _name_match(answer: FormulaAnswer, match: FormulaMatch) -> str:
    """Name the operand whose map a formula equals or begins with."""
    name, count = name_map(match.map, answer.letter), match.map.values
    if count < answer.least:
        return f"The first {count} values are {name}" if count > 1 else f"The first value is {name}"
    return f"{match.times} × {name}" if match.times > 1 else name


def _make_title(answer: FormulaAnswer) -> str:
    if answer.half:
        has, missing = ("row", "column") if answer.half == "row" else ("column", "row")
        return f"Half a formula: it has a {has} and no {missing}"
    exact = [match for match in answer.matches if answer.moves or not match.swapped]
    if answer.matches and answer.matches[0].swapped and not answer.moves and not answer.addresses:
        return f"{name_map(answer.matches[0].map, answer.letter)}, with rows and columns exchanged"
    if exact:
        return _name_match(answer, exact[0])
    if answer.addresses:
        return str(describe_address(answer.addresses[0])["name"])
    if answer.parts:
        return _name_parts(answer)
    if answer.said:
        return f"No operand has its {name_values(answer.said)} there"
    return f"No operand has the map of this {'loop' if answer.moves else 'formula'}"


def _name_parts(answer: FormulaAnswer) -> str:
    """Name the values of the first map that contains the text's values, and count the other maps."""
    first, more = answer.parts[0], len(answer.parts) - 1
    how = "" if answer.said or len(first.values) == 1 else "Each of "
    name = how + name_values(first.values)
    others = f", and values of {more} other map{'s' * (more > 1)}" if more else ""
    return f"{name[0].upper()}{name[1:]} of {name_map(first.map, answer.letter)}{others}"


def _list_notices(answer: FormulaAnswer) -> Iterator[str]:
    if answer.assumed:
        yield f"Taken as the same in all threads: {', '.join(answer.assumed)}."
    if answer.half:
        yield from _describe_half(answer)
    if answer.parts and not answer.said:
        yield "The text has no number of the value, i, so it is one value of each lane: those that are there are named."
    if not answer.half:
        yield from _describe_range(answer)
    if answer.clash:
        clash, name = answer.clash, answer.open_values
        yield (
            f"At {name} = {clash.value} it gives lane {clash.lane} row {clash.place[0]}, column {clash.place[1]}, which"
            f" lane {clash.other_lane} has at {name} = {clash.other_value}."
        )
    if answer.nearest:
        thread, value, computed, actual = answer.nearest.first
        yield (
            f"Nearest with {answer.nearest.map.values} values: {name_map(answer.nearest.map, answer.letter)},"
            f" {answer.nearest.agree} of {answer.nearest.total} elements. First difference: lane {thread}, value"
            f" {value}: the text has row {computed[0]}, column {computed[1]}; the operand has row {actual[0]},"
            f" column {actual[1]}."
        )


def _describe_range(answer: FormulaAnswer) -> Iterator[str]:
    """State which operand the text names, and how many values were compared."""
    same = [match for match in answer.matches if answer.moves or not match.swapped]
    if answer.letter and same and not any(match.map.has_operand(answer.letter) for match in same):
        yield f"The text names operand {answer.letter.upper()}, and no {answer.letter.upper()} has this map."
    if same and answer.open_values:
        last, name = same[0].map.values - 1, answer.open_values
        compared = f"{name} = 0 to {last}, the values" if last else f"{name} = 0, the value"
        yield f"The text does not say where {name} ends. Compared here: {compared} that the operand has."
    if same and same[0].map.values < answer.least:
        yield f"The formula distinguishes {answer.least} values, and no operand with that many has this map."


def _describe_half(answer: FormulaAnswer) -> Iterator[str]:
    has, name = ("row", "col") if answer.half == "row" else ("column", "row")
    yield f"Add {name} = … to compare the whole. The {has} alone was compared with that of {answer.compared} maps."
    if not answer.matches:
        yield f"No operand has this {has} for every lane and value."
        return
    first = name_map(answer.matches[0].map, answer.letter)
    many = len(answer.matches)
    yield f"It is the {has} of {many} map{'s' * (many > 1)}: {first}{' first' * (many > 1)}."
