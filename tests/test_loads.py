"""The generated loads and stores of every distinct map, built with a host compiler and run thread by thread: every bit
where the map says.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.slots import list_slots as slots_of
from lanescope.render import cuda, python
from tests import cpp
from tests.sample import FULL, is_chosen

needs_compiler = pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
BLOCK = 256  # threads of the block that runs them: more than one warp or warpgroup, each of which does the same
EXTRA = 24  # elements between the lines of memory beside those that are read: whole bytes of every type
Raw = NDArray[np.uint8]


@lru_cache(maxsize=1)
def list_functions() -> tuple[tuple[str, Operand, str], ...]:
    """(text, operand, "load" or "store") of every function that some page shows, each text once."""
    found: dict[str, tuple[str, Operand, str]] = {}
    for i in catalog.instructions():
        whole = None
        for op in i.operands.values():
            for what, make, names in (("load", cuda.render_load, "abc"), ("store", cuda.render_store, "d")):
                if op.name in names and (text := make(op)) not in found:
                    found[text] = (text, op, what)
                    whole = whole or cuda.render_program(i)
                    assert text in whole
    return tuple(found.values())


class MatrixMemory:
    """A matrix in memory with gaps, and the registers that hold it: by the map alone, bit by bit."""

    def __init__(self, op: Operand, rng: np.random.Generator) -> None:
        self.op, self.bits = op, op.container_bits
        lines, along = (op.col_count, op.row_count) if op.name == "b" else (op.row_count, op.col_count)
        self.ld = along + EXTRA
        products = op.extents.get("product", 1)
        places = dict(op.coords)
        product = places.pop("product", 0)
        row, col = places["row"], places["col"]
        line, at = (col, row) if op.name == "b" else (row, col)
        self.index = (product * lines + line) * self.ld + at  # [threads, values]: element of memory
        if op.name != "b":
            assert lines == op.row_count
        self.size = products * lines * self.ld * self.bits // 8
        self.bytes: Raw = rng.integers(0, 256, self.size, np.uint8)
        ones = np.unpackbits(self.bytes, bitorder="little").reshape(-1, self.bits)
        self.registers: Raw = np.packbits(ones[self.index].reshape(op.threads, -1), axis=1, bitorder="little")
        self.inside = np.zeros(len(ones), bool)
        self.inside[self.index] = True


def render_driver(number: int, text: str, op: Operand, what: str, memory: MatrixMemory) -> str:
    """A namespace with the function and a run of it: registers or memory come in through `take`, the other goes out
    through `give`.
    """
    register, unit = cuda.get_register_type(op.element), cuda.get_memory_type(op.element, op.container_bits)
    head = (
        f"namespace n{number} {{\n{text}\nvoid all() {{\n"
        f"  static {register} r[{BLOCK}][{op.registers}];\n  alignas(16) static unsigned char m[{memory.size}];\n"
    )
    threads = (
        f"  for (unsigned t = 0; t < {BLOCK}; ++t) {{ threadIdx.x = t; {what}_{op.name}(r[t], ({unit}*)m,"
        f" {memory.ld}u); }}\n"
    )
    if what == "load":
        return f"{head}  take(m, sizeof m); std::memset(r, 0xA5, sizeof r);\n{threads}  give(r, sizeof r);\n}}\n}}\n"
    copies = (
        f"  for (unsigned t = {op.threads}; t < {BLOCK}; ++t) std::memcpy(r[t], r[t % {op.threads}], sizeof r[t]);\n"
    )
    filled = f"  take(r, sizeof r / {BLOCK} * {op.threads}); std::memset(m, 0, sizeof m);\n{copies}"
    return f"{head}{filled}{threads}  give(m, sizeof m);\n}}\n}}\n"


@needs_compiler
def test_every_load_and_store_follows_its_map() -> None:
    every = list_functions()
    assert len(every) > 200 and {op.container_bits for _, op, _ in every} == {1, 4, 8, 16, 32, 64}
    cases = [case for case in every if is_chosen(case[0], 10) or case[1].container_bits in (1, 64)]
    rng = np.random.default_rng(7)
    memories = [MatrixMemory(op, rng) for _, op, _ in cases]
    parts = [render_driver(n, *case, memory) for n, (case, memory) in enumerate(zip(cases, memories, strict=True))]
    given = b"".join(
        (m.bytes if what == "load" else m.registers).tobytes() for (_, _, what), m in zip(cases, memories, strict=True)
    )
    moves = (
        "static void take(void* to, size_t n) { if (fread(to, 1, n, stdin) != n) throw 1; }\n"
        "static void give(void* from, size_t n) { fwrite(from, 1, n, stdout); }\n"
    )
    calls = "".join(f"  n{n}::all();\n" for n in range(len(cases)))
    told = np.frombuffer(
        cpp.build_and_run("".join([cpp.DEVICE, moves, *parts, f"int main() {{\n{calls}}}\n"]), given), np.uint8
    )
    for (text, op, what), memory in zip(cases, memories, strict=True):
        if what == "load":
            wanted = np.tile(memory.registers, (BLOCK // op.threads, 1)).reshape(-1)
        else:
            ones = np.unpackbits(memory.bytes, bitorder="little").reshape(-1, op.container_bits)
            wanted = np.packbits((ones * memory.inside[:, None]).reshape(-1), bitorder="little")
        mine, told = told[: wanted.size], told[wanted.size :]
        assert np.array_equal(mine, wanted), text
    assert not told.size


def test_every_numpy_snippet_packs_and_unpacks_by_its_map() -> None:
    """pack gives exactly the registers of the map, and unpack takes them back; every distinct snippet of
    the catalogue.
    """
    rng = np.random.default_rng(3)
    texts: dict[str, Operand] = {}
    for i in catalog.instructions():
        for op in i.operands.values():
            texts.setdefault(python.render_snippet(op), op)
    assert len(texts) > 100
    for text, op in texts.items():
        scope: dict[str, object] = {}
        exec(text, scope)
        matrix = rng.integers(0, 1 << min(op.container_bits, 62), op.pattern.extents, np.uint64)
        held = matrix[op.pattern.evaluate()]
        bits = np.unpackbits(held[..., None].view(np.uint8), axis=-1, bitorder="little")[..., : op.container_bits]
        wanted = np.packbits(bits.reshape(op.threads, -1), axis=1, bitorder="little").view(f"u{op.register_bits // 8}")
        registers = scope["pack"](matrix)  # type: ignore[operator]
        assert np.array_equal(registers, wanted) and registers.dtype == wanted.dtype, text
        assert np.array_equal(scope["unpack"](registers), matrix), text  # type: ignore[operator]


# wrappers: the inline assembly read as the compiler reads it ----------------------------------------------------------

_ASM = re.compile(
    r'asm volatile\("(?P<body>[^"]*)\\n"\n +: (?P<outputs>.*)\n +: (?P<inputs>.*?)(?P<clobber> : "memory")?\);'
)
_BOUND = re.compile(r'"(?P<sign>[=+]?)(?P<letter>[a-z])"\((?P<name>\w+(?:\[\d+\])?)\)')
LETTERS = {"b32": "r", "s32": "r", "u32": "r", "f32": "f", "f64": "d", "b64": "l", "u64": "l"}


def parse_asm(i: Instruction, form: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """(the PTX statement with every %n replaced by the C++ name that is bound to it, name → (sign, constraint))."""
    text = cuda.render_wrapper(i, form)
    match = _ASM.search(text)
    assert match, text
    bound = [(m["name"], m["sign"], m["letter"]) for m in _BOUND.finditer(f"{match['outputs']}, {match['inputs']}")]
    assert len(bound) == len(re.findall(r'"\w*[=+]?[a-z]"\(|"[=+][a-z]"\(', f"{match['outputs']}, {match['inputs']}"))
    used: set[int] = set()

    def name(found: re.Match[str]) -> str:
        used.add(int(found[1]))
        return bound[int(found[1])][0]

    body = re.sub(r"%(\d+)", name, match["body"])
    assert used == set(range(len(bound))), text  # every binding has its place
    written = {slot.name for slot in slots_of(i, form) if slot.kind == "address"}
    assert bool(match["clobber"]) == bool(written or i.threads == 128), text
    return body, {name: (sign, letter) for name, sign, letter in bound}


def test_every_wrapper_binds_each_register_to_its_place() -> None:
    """Of the catalogue, both forms of wgmma: operand by operand what PTX's syntax says, outputs written and inputs
    not.
    """
    count = 0
    for i in (i for i in catalog.instructions() if is_chosen(i.ptx, 4)):
        for form in i.family.forms:
            body, bound = parse_asm(i, form)
            told = []
            for slot in slots_of(i, form):
                names = [f"{slot.name}[{n}]" for n in range(slot.registers)] if slot.kind == "vector" else [slot.name]
                names = [name for name, _ in slot.immediates] if slot.kind == "immediate" else names
                together = "{" + ", ".join(names) + "}"
                spelled = {"vector": together, "address": f"[{slot.name}]", "predicate": "p"}
                told.append(spelled.get(slot.kind, together if len(names) > 1 else names[0]))
                letter = {"immediate": "n", "predicate": "r"}.get(slot.kind) or LETTERS[slot.type]
                sign = ("+" if i.threads == 128 else "=") if slot.written else ""
                assert {bound[name] for name in names} == {(sign, letter)}, (i.ptx, slot)
            line = f"{i.ptx} {', '.join(told)};"
            predicate = next((slot.name for slot in slots_of(i, form) if slot.kind == "predicate"), "")
            assert body == (f"{{ .reg .pred p; setp.ne.b32 p, {predicate}, 0; {line} }}" if predicate else line)
            count += 1
    assert count > (2500 if FULL else 500)


def test_memory_is_read_off_the_map() -> None:
    """The expectation itself, by hand: lane 5 of the A of m16n8k16 holds (1, 2) and (1, 3) in a0, (9, 2) and (9, 3) in
    a1.
    """
    op = catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    memory = MatrixMemory(op, np.random.default_rng(1))
    halves = memory.bytes.view(np.uint16).reshape(16, 16 + EXTRA)
    assert memory.registers[5].view(np.uint16)[:4].tolist() == [halves[1, 2], halves[1, 3], halves[9, 2], halves[9, 3]]
