"""Describe the result of comparing a formula or a loop with every operand (fragment_code.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lanescope.inputs import join_words
from lanescope.ptx.fragment_maps import FragmentMap
from lanescope.reader.formula import xor_formulas
from lanescope.reader.formula.fragment_addresses import AddressMap
from lanescope.reader.formula.fragment_code import FormulaAnswer, compare_code, is_fragment_code
from lanescope.reader.formula.fragment_moves import FormulaMatch
from lanescope.reader.formula.fragment_parts import MatchingValues
from lanescope.reader.meaning import TextMeaning

MOST_HALVES = 12  # maps listed for a formula with one coordinate


def recognise_fragment_code(text: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a formula of rows and columns, or of a loop that moves a fragment; then the swizzle of an
    address in it.

    Raises LayoutError if the coordinates cannot be determined."""
    if not is_fragment_code(text):
        return ()
    answer = compare_code(text)
    agree = [match for match in answer.matches if (answer.moves or not match.swapped) and not answer.half]
    facts = {
        "agree": [describe_match(match, answer) for match in agree if match.map.values >= answer.least],
        "begin": [describe_match(match, answer) for match in agree if match.map.values < answer.least],
        "half": [describe_match(match, answer) for match in answer.matches[:MOST_HALVES] if answer.half],
        "exchanged": [describe_match(match, answer) for match in answer.matches if match.swapped and not answer.moves],
        "part": [describe_part(part, answer.letter) for part in answer.parts],
        "addresses": [describe_address(address) for address in answer.addresses],
        "nearest": _describe_nearest(answer),
        "compared": answer.compared,
        "assumed": list(answer.assumed),
        "named": answer.letter or None,
    }
    swizzled = xor_formulas.recognise_xor_formulas(text)
    unread = "; ".join(() if swizzled else xor_formulas.list_addresses(text))
    notices = (f"No swizzle is read from {unread}.",) if unread else ()
    fragment = TextMeaning("fragment", _make_title(answer), facts, (*_list_notices(answer), *notices), sure=True)
    return (fragment, *swizzled)


def list_operands(fragment_map: FragmentMap, letter: str) -> list[dict[str, Any]]:
    """Return the operands with a map, one per opcode, shape and element size: name, PTX, operand's letter.

    letter: the operand that the text names; it comes first.
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
    """Return an operand's letter, with c and d grouped."""
    return "cd" if operand in ("c", "d") else operand


def name_map(fragment_map: FragmentMap, letter: str) -> str:
    """Return a phrase with a map's first operands of this letter, or else of each letter."""
    indices = list_operands(fragment_map, letter)
    firsts = {_group_letters(part["operand"]): str(part["name"]) for part in reversed(indices)}
    names = [indices[0]["name"]] if fragment_map.has_operand(letter) else list(firsts.values())[::-1]
    more = len(indices) - len(names)
    return f"{join_words(names)} (and {more} more with the same map)" if more else join_words(names)


def describe_part(part: MatchingValues, letter: str) -> dict[str, Any]:
    """Return the facts about a map that contains a text's values."""
    return {
        "name": name_map(part.map, letter),
        "threads": part.map.threads,
        "values": part.map.values,
        "held": list(part.values),
        "operands": list_operands(part.map, letter),
    }


def name_values(indices: Sequence[int]) -> str:
    """Return a phrase for value indices, such as `value 0` or `values 2 and 3`."""
    return f"value{'s' * (len(indices) > 1)} {join_words([str(n) for n in indices])}"


def describe_match(match: FormulaMatch, answer: FormulaAnswer) -> dict[str, Any]:
    """Return the facts about a matching map."""
    order = ("column-major" if match.swapped else "row-major") if answer.moves else None
    return {
        "name": name_map(match.map, answer.letter),
        "threads": match.map.threads,
        "values": match.map.values,
        "times": match.times,
        "order": order,
        "operands": list_operands(match.map, answer.letter),
    }


def describe_address(address_map: AddressMap) -> dict[str, Any]:
    """Return the facts about the load whose row addresses a formula gives."""
    major = "K" if address_map.major == "K" else "M" if address_map.operand == "a" else "N"
    load = address_map.load.ptx.replace(".sync.aligned", "").replace(".shared.b16", "")
    kind = f"{address_map.mma.operand(address_map.operand).container_bits}-bit"
    two = "two neighbouring " if address_map.tiles > 1 else ""
    operand = f"{two}{address_map.operand.upper()} of {address_map.mma.shape}"
    name = f"Row addresses of {load} for {operand}, {kind}, {major}-major"
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
        "operands": list_operands(nearest.map, answer.letter),
    }


def _name_match(answer: FormulaAnswer, match: FormulaMatch) -> str:
    """Return a phrase with the operand whose map a formula equals or begins with."""
    name, count = name_map(match.map, answer.letter), match.map.values
    if count < answer.least:
        return f"The first {count} values are {name}" if count > 1 else f"The first value is {name}"
    return f"{match.times} × {name}" if match.times > 1 else name


def _make_title(answer: FormulaAnswer) -> str:
    if answer.half:
        has, missing = ("row", "column") if answer.half == "row" else ("column", "row")
        return f"Incomplete formula: it has a {has} and no {missing}"
    exact = [match for match in answer.matches if answer.moves or not match.swapped]
    if answer.matches and answer.matches[0].swapped and not answer.moves and not answer.addresses:
        return f"{name_map(answer.matches[0].map, answer.letter)}, with rows and columns exchanged"
    if exact:
        return _name_match(answer, exact[0])
    if answer.addresses:
        return str(describe_address(answer.addresses[0])["name"])
    if answer.parts:
        return _name_parts(answer)
    if answer.covered:
        return f"No operand has its {name_values(answer.covered)} there"
    return f"No operand has the map of this {'loop' if answer.moves else 'formula'}"


def _name_parts(answer: FormulaAnswer) -> str:
    """Return a phrase with the first map that contains the text's values, and the number of other maps."""
    first, more = answer.parts[0], len(answer.parts) - 1
    how = "" if answer.covered or len(first.values) == 1 else "Each of "
    name = how + name_values(first.values)
    others = f", and values of {more} other map{'s' * (more > 1)}" if more else ""
    return f"{name[0].upper()}{name[1:]} of {name_map(first.map, answer.letter)}{others}"


def _list_notices(answer: FormulaAnswer) -> Iterator[str]:
    if answer.packing:
        yield answer.packing
    if answer.assumed:
        yield f"Assumed to be the same in all threads: {', '.join(answer.assumed)}."
    if answer.half:
        yield from _describe_half(answer)
    if answer.addresses and answer.addresses[0].others:
        last = len(answer.addresses[0].rows) - 1
        yield f"Lanes 0–{last} have these addresses; the load does not use those of the other lanes."
    if answer.parts and not answer.covered:
        yield "The text has no value index i, so it describes one value of each lane; matching values are listed."
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
    """Return sentences on the operand that the text names and the number of values compared."""
    same = [match for match in answer.matches if answer.moves or not match.swapped]
    if answer.letter and same and not any(match.map.has_operand(answer.letter) for match in same):
        yield f"The text names operand {answer.letter.upper()}, and no {answer.letter.upper()} has this map."
    if same and answer.open_values:
        last, name = same[0].map.values - 1, answer.open_values
        compared = f"{name} = 0 to {last}, the values" if last else f"{name} = 0, the value"
        yield f"The text does not limit {name}. Compared: {compared} that the operand has."
    if same and same[0].map.values < answer.least:
        yield f"The formula distinguishes {answer.least} values, and no operand with that many has this map."


def _describe_half(answer: FormulaAnswer) -> Iterator[str]:
    has, name = ("row", "col") if answer.half == "row" else ("column", "row")
    yield f"Add {name} = … to compare both. Only the {has} was compared, with that of {answer.compared} maps."
    if not answer.matches:
        yield f"No operand has this {has} for every lane and value."
        return
    first = name_map(answer.matches[0].map, answer.letter)
    many = len(answer.matches)
    yield f"It is the {has} of {many} map{'s' * (many > 1)}: {first}{' first' * (many > 1)}."
