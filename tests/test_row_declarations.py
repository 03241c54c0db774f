"""A row says what its family does: no code outside layouts/ptx/table/ asks for a name, and one row of a new kind is
all a family takes.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.ptx.table.kinds import KINDS
from lanescope.ptx.table.tmem import COPIES, MOVES
from tests import added_rows

pytestmark = pytest.mark.thorough  # what a contributor adds, not what people are told

ROOT = Path(__file__).parents[1]
# the tables have the rows; a row of the emulator is an opcode and what it does
ROWS = {"table", "emulate"}
CODE = [
    p
    for room in ("layouts", "app")
    for p in sorted((ROOT / room).rglob("*.py"))
    if not ROWS & set(p.relative_to(ROOT).parts)
]
PACKED = {row.unpacks for row in catalog.families() if row.unpacks}
HEADS = {opcode.words[0] for opcode in catalog.OPCODES.values()}
NAMES = {*catalog.FAMILY_NAMES, *HEADS, *catalog.OPCODES}
# Words of a PTX text that say what an instruction is. Layouts, types and the modifiers that a pattern is chosen by are
# none.
SHAPES = {move.shape for move in MOVES} | {name.partition(".")[0] for name in COPIES}
WORDS = {*NAMES, *catalog.OPCODE_WORDS, *PACKED, "b8x16", *SHAPES} - set("abcd")
ROWS = {row.name for row in (*KINDS, *FORMATS)} | (DTYPES.keys() - {"f32", "s32"})  # rows that have names alone
TEXTS = {"ptx", "listed_ptx", "opcode", "text", "name"}  # attributes that hold an opcode or a family's name
ASKING = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "find",
    "index",
    "count",
    "search",
    "match",
    "fullmatch",
    "get",
}
DESCRIPTORS = {row.name.upper() for row in FORMATS}
MISTAKEN = {"packing.py", "mistakes.py"}  # what is mistaken for what is a matter of two formats
QUESTIONS = {ast.Compare, ast.Call, ast.Subscript, ast.Match, ast.Tuple, ast.List, ast.Set, ast.Dict}
PLAIN = {str, int, float, complex, bytes, bool, type(None), type(...), ast.Load, ast.Store, ast.Del, ast.Name}
THREADS = {"32", "128", "WARP", "WARPGROUP"}


def list_constants(node: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def is_opcode_word(texts: set[str]) -> bool:
    """Whether a constant holds a word of an opcode, a family's name or a packed format: ".load.", "wmma", "b8x16",
    "ldmatrix.x4".
    """
    return any(word in WORDS for text in texts for word in (text, *re.split(r"[.\s]+", text)))


def is_about_instruction(node: ast.AST) -> bool:
    """Whether an expression is an instruction's text or opcode or a family's name."""
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in TEXTS
        and (n.attr in ("ptx", "listed_ptx", "opcode") or re.search(r"family|opcode", ast.unparse(n.value)))
        for n in ast.walk(node)
    )


def is_row_name(node: ast.AST) -> bool:
    """Whether an expression is the name of a kind, a format or an element type: row.name, mma.kind.name."""
    whose = ast.unparse(node.value) if isinstance(node, ast.Attribute) and node.attr == "name" else ""
    return bool(re.search(r"(?:^|\.)(?:row|kind|form|format|element)$", whose))


def walk_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node that may be a question; faster than `ast.walk`, as a million nodes are looked at."""
    left = [tree]
    while left:
        node = left.pop()
        if node.__class__ in QUESTIONS:
            yield node
        for value in node.__dict__.values():
            kind = value.__class__
            if kind is list:
                left += [item for item in value if item.__class__ not in PLAIN]
            elif kind not in PLAIN:
                left.append(value)


def find_questions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every condition that asks a name: (line, what it is)."""
    for node in walk_nodes(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(is_row_name, sides)) and any(list_constants(side) & ROWS for side in sides):
                yield node.lineno, "asks for a row by its name"
            text, told = (
                any(map(is_about_instruction, sides)),
                is_opcode_word({c for side in sides for c in list_constants(side)}),
            )
            if text and told:
                yield node.lineno, "asks a name"
            if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) and any(
                isinstance(side, ast.Name) and side.id in DESCRIPTORS for side in sides
            ):
                yield node.lineno, "asks which format"
            threads = any(isinstance(side, ast.Attribute) and side.attr == "threads" for side in sides)
            if threads and any(ast.unparse(side) in THREADS for side in sides):
                yield node.lineno, "asks for a number of threads"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKING:
            if any(is_about_instruction(part) for part in (node.func.value, *node.args)) and is_opcode_word(
                {c for argument in (node.func.value, *node.args) for c in list_constants(argument)}
            ):
                yield node.lineno, "asks a text"
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict) and is_about_instruction(node.slice):
            yield node.lineno, "looks a name up"
        elif isinstance(node, ast.Match) and is_about_instruction(node.subject):
            yield node.lineno, "matches a name"
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            held = {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}
            if len(held) > 1 and held <= NAMES:
                yield node.lineno, "is a menu of families"


# A text that asks has one of these, or two names: other files need not be parsed.
ASKED_OF = (".ptx", ".listed_ptx", "opcode", "family", ".threads")
ROWS_ASKED = [f"{row}.name" for row in ("row", "kind", "form", "format", "element")]
FORMATS_ASKED = [text for name in DESCRIPTORS for text in (f"is {name}", f"is not {name}", f"{name} is")]
QUOTED = re.compile(rf"[\"'](?:{'|'.join(map(re.escape, sorted(NAMES)))})[\"']")


def may_ask(text: str) -> bool:
    """Return whether a text has the words of some question."""
    return any(part in text for part in (*ASKED_OF, *ROWS_ASKED, *FORMATS_ASKED)) or len(QUOTED.findall(text)) > 1


def test_no_code_asks_for_a_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for path in CODE
        if may_ask(text := path.read_text())
        for line, what in find_questions(ast.parse(text))
        if not (what == "asks which format" and path.name in MISTAKEN)
    ]
    assert not found


# one row --------------------------------------------------------------------------------------------------------------

LOAD, PRODUCT = "tmem.ld.sync.aligned.16x64b.x4.b32", "imma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, str]]:
    """What engine, API, pages, runs and command line say of rows that only the tests' own tables have, in one process:
    the families of tests/added_families.py, and the lines that tests/added_rows.py adds to the tables' files.
    """
    ran = subprocess.run([sys.executable, "-m", "tests.added_rows"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told: dict[str, dict[str, str]] = json.loads(ran.stdout)
    return told


@pytest.fixture(scope="module")
def pages(answers: dict[str, dict[str, str]]) -> dict[str, str]:
    """Address → page or answer, of two families that only a row declares."""
    return answers["families"]


def test_a_load_of_tensor_memory_is_one_row(pages: dict[str, str]) -> None:
    listed = json.loads(pages["/api/v1/instructions?family=tmem_ld"])
    assert [row["ptx"] for row in listed["instructions"]] == [LOAD.replace("x4", f"x{n}") for n in (1, 4, 16)]
    assert json.loads(pages["/api/v1/instructions?q=tmem x4"])["count"] == 1
    told = json.loads(pages[f"/api/v1/instructions/{LOAD}/operands/data"])
    assert told["axes"] == ["lane", "column"] and (told["rows"], told["cols"], told["registers"]) == (16, 8, 4)
    assert (told["lane"][5][2], told["column"][5][2]) == (9, 4)  # g = 1, c = 0, h = 1 of PTX's figure for 16x64b
    assert json.loads(pages[f"/api/v1/instructions/{LOAD}"])["operands"][0]["formula"]["forward"].splitlines()[1:] == [
        "lane = 8 * (%laneid & 1) + groupID",
        "column = 2 * i + ((%laneid >> 1) & 1)",
    ]
    page = pages[f"/i/{LOAD}"]
    assert (
        "x4" in page
        and "[taddr]" in page
        and "4 times, in neighbouring columns" not in pages["/instructions"]
        and '/instructions?family=tmem_ld"' in pages["/instructions"]
    )
    assert "tmem.ld.sync.aligned.16x64b.x16.b32" in page  # the picker of the modifiers
    assert pages[f"/i/{LOAD}/data.svg"].startswith("<svg") and "T5:2" in pages[f"/i/{LOAD}/data.svg"]
    assert "T5:2" in pages[f"/i/{LOAD}/data.txt"] and "lane,column" in pages[f"/i/{LOAD}/data.csv"]
    code = pages[f"/i/{LOAD}.cu"]
    assert 'asm volatile("tmem.ld.sync.aligned.16x64b.x4.b32 {%0, %1, %2, %3}, [%4];' in code
    assert pages["packed"] == "True"
    assert pages["find"] == LOAD and "tmem.ld" in pages["refusal"] and LOAD in pages["refusal"]
    assert "load from tensor memory" in pages["parts"] and "4 times, in neighbouring columns" in pages["parts"]
    assert "unsupported_here" in pages["run"]
    assert "no_program" in pages["plan"] and "no_chain" in pages["chain"]


def test_a_product_is_one_row(pages: dict[str, str]) -> None:
    told = json.loads(pages[f"/api/v1/instructions/{PRODUCT}"])
    assert told["family"] == "imma" and [op["name"] for op in told["operands"]] == ["a", "b", "c", "d"]
    assert (
        '/instructions?family=imma"' in pages["/instructions"]
        and "imma.sync" in pages[f"/i/{PRODUCT}.cu"]
        and pages[f"/i/{PRODUCT}.svg"].startswith("<svg")
    )
    assert pages["product"] == "True" and f"{PRODUCT}" in pages["program"] and "section imma" in pages["sections"]


# a line in a table ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def more(answers: dict[str, dict[str, str]]) -> dict[str, str]:
    """What is said of a shape of tcgen05.ld, an element type and a descriptor format, each a line of a table's file."""
    told = answers["rows"]
    wrong = {
        asked: answer[:300] for asked, answer in told.items() if asked[0] == "/" and answer[:3] not in ("200", "303")
    }
    assert not wrong
    assert all(told[" ".join(words)].startswith("0 ") for words in added_rows.COMMANDS)
    return told


def test_a_shape_of_a_load_of_tensor_memory_is_one_line(more: dict[str, str]) -> None:
    shape, load = added_rows.SHAPE, added_rows.LOAD
    texts = [row["ptx"] for row in json.loads(more[f"/api/v1/instructions?q={shape}"][4:])["instructions"]]
    assert len(texts) == 28 and load in texts and f"tcgen05.st.sync.aligned.{shape}.x64.unpack::16b.b32" in texts
    told = json.loads(more[f"/api/v1/tmem/access?access=tcgen05.ld.{shape}.x4"][4:])
    assert told["ptx"] == load and told["columns"] == 8 and told["column"][3] == list(range(8))
    for address in (
        "/instructions?family=tcgen05_ld",
        "/guide/tensor-memory",
        f"/tmem?access=tcgen05.st.{shape}.x2&at=32:64",
    ):
        assert shape in more[address], address
    assert f'asm volatile("{load} {{' in more[f"/i/{load}.cu"] and load in more[f"/i/{load}"]
    assert load in more["list --family tcgen05_ld --json"] and "(l:32) (r:4 c:2)" in more[f"show {load}"]
    assert f"128 loads of 8 registers, {load}" in more[f"tmem epilogue --access tcgen05.ld.{shape}.x4"]
    assert {f"tcgen05.ld.{shape}", f"tcgen05.st.{shape}", f"tcgen05.ld.{shape}.pack::16b"} <= set(more["probe"].split())


def test_an_element_type_is_one_line(more: dict[str, str]) -> None:
    element, product = added_rows.ELEMENT, added_rows.PRODUCT
    told = json.loads(more[f"/api/v1/instructions/{product}"][4:])
    assert [op["element_type"] for op in told["operands"]] == [element, element, "f32", "f32"]
    document = json.loads(more["/openapi.json"][4:])
    assert element in document["components"]["schemas"]["ElementType"]["enum"]
    assert json.loads(more[f"/api/v1/instructions?type={element}"][4:])["count"] == 1
    assert element in more["/instructions"] and element in more[f"/i/{product}"] and product in more["program"]
    assert more["run"] == "True" and "A[3,2]" in more[f"show {product} a --at 3,2"]


def test_a_descriptor_format_is_one_line(more: dict[str, str]) -> None:
    name, word = added_rows.FORMAT, added_rows.WORD
    told = json.loads(more[f"/api/v1/descriptors/{word}?format={name}"][4:])
    assert (told["format"], told["swizzle"], told["base_offset"]) == (name, "128B", 1)
    assert "desc.base_offset_ = 1;" in told["code"]["cutlass"] and "cute::Later" in told["code"]["cutlass"]
    assert json.loads(more["/openapi.json"][4:])["components"]["schemas"]["FormatName"]["enum"][-1] == name
    assert (
        f"{name} matrix descriptor" in more[f"/descriptor/{name}/{word}"]
        and "CUTLASS (" not in more[f"/descriptor/{name}/{word}"]
    )
    assert f'name="format" value="{name}"' in more[f"/smem?format={name}"]
    assert "59–57  base_offset" in more[f"descriptor decode {word} --format {name}"]
    tile = json.loads(more[f"/api/v1/smem/tile?format={name}"][4:])
    assert tile["k_steps"][0]["descriptor"].startswith("0x1")
