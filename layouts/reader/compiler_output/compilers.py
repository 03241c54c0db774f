"""Names of instructions in compilers: MLIR's nvvm and nvgpu, LLVM's intrinsics, also as CUDA.jl calls them, TVM's and
TileLang's ptx_mma, ptx_ldmatrix and T.ptx.

Sources: LLVM, IntrinsicsNVVM.td (which types a name holds), NVVMOps.td, NVGPUOps.td; TVM, tirx op ptx_mma. The majors
of nvvm.wgmma are left open: the meaning of `row` for B changed between releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.errors import LayoutError
from lanescope.ptx import short_names
from lanescope.ptx.instruction import Instruction
from lanescope.reader.compiler_output import tensor_compilers
from lanescope.reader.cutlass_names import library_names
from lanescope.reader.cutlass_names.library_names import TYPES
from lanescope.reader.meaning import TextMeaning, make_instruction_meaning

_MOST = 64  # names per text
_NEAR = 1200  # characters per operation
_INTRINSIC = re.compile(r"llvm[._]nvvm[._](?P<name>(?:ldmatrix|stmatrix|mma|wmma)[.\w:]{4,120})")
_JULIA = re.compile(r"(?<!\w)llvm_wmma_(?P<name>(?:load|store|mma)_\w{8,80})")
_OPERATION = re.compile(
    r"\"?(?<![\w.])(?P<op>nvvm\.wgmma\.mma_async|nvvm\.mma\.(?:sp\.)?sync|(?:nvgpu|gpu)\.mma\.(?:sp\.)?sync"
    r"|nvvm\.ldmatrix"
    r"|nvvm\.stmatrix|nvgpu\.ldmatrix|nvgpu\.warpgroup\.mma)\"?(?=[\s(])(?P<rest>[^#]{0,40})"
)
_CALL = re.compile(
    r"(?<!\w)(?P<op>ptx_mma(?:_sp)?|ptx_legacy\.mma(?:_sp)?|ptx_wgmma_[sr]s|ptx_ldmatrix)\s*\((?P<arguments>[^;]{0,600})"
)
_LOAD = re.compile(
    r"\s*(?:[\"']\w+[\"']\s*,\s*)?(?:T\.bool\(\s*)?(?P<trans>True|False|[01])\s*\)?\s*,\s*(?P<count>[124])\s*,"
    r"\s*(?:[\"']\.?b16[\"']|(?![\"']))"
)
_SPELLED = re.compile(
    r"(?<!\w)ptx(?P<dot>\.|\[f?[\"'])(?P<name>(?:mma|wgmma|ldmatrix|stmatrix|wmma|tcgen05)\.[\w.:]{6,160})"
)
_TYPE = re.compile(r"[\"'](?:\w+\.)?(" + "|".join(sorted(TYPES, key=len, reverse=True)) + r")[\"']")
_SUMS = {"bf16": "f32", "tf32": "f32", "f64": "f64", **dict.fromkeys(("s8", "u8", "s4", "u4", "b1"), "s32")}


def recognise_compiler_names(text: str) -> tuple[TextMeaning, ...]:
    """Return the instructions that a text names as a compiler does.

    Raises LayoutError if no name matches an instruction.
    """
    instructions, open_, wrong = _list_instructions(text)
    if open_:
        return make_instruction_meaning([*instructions, *open_], "A compiler's operation")
    if not instructions:
        if wrong:
            short_names.parse_instruction(wrong)
        return ()
    names = list(dict.fromkeys(instruction.ptx for instruction in instructions))
    facts = {
        "ptx": names[0],
        "candidates": [],
        "operand": None,
        "all": [instruction.ptx for instruction in instructions][:_MOST],
    }
    title = names[0] if len(names) == 1 else f"{len(names)} instructions"
    if wrong:
        try:
            short_names.parse_instruction(wrong)
        except LayoutError as error:
            return (TextMeaning("instruction", title, facts, (error.message,)),)
    return (TextMeaning("instruction", title, facts, sure=len(names) == 1),)


def _list_instructions(text: str) -> tuple[list[Instruction], list[Instruction], str]:
    """Return (determined instructions, candidates of an ambiguous name, the first name without an instruction)."""
    instructions: list[Instruction] = []
    open_: list[Instruction] = []
    wrong = ""
    for spelled in _list_spellings(text):
        fit = [instruction for each in spelled if (instruction := short_names.find_instruction(each)) is not None]
        if len(fit) == 1:
            instructions += fit
        elif fit:
            open_ += fit
        else:
            wrong = wrong or next(iter(spelled), "")
        if len(instructions) >= _MOST:
            break
    return instructions, open_, wrong


def _list_spellings(text: str) -> Iterator[list[str]]:
    """Yield the possible PTX opcodes of each name, in the order of the text."""
    places = []
    for pattern, parse in (
        (_INTRINSIC, _parse_intrinsic),
        (_JULIA, _parse_julia),
        (_CALL, _parse_call),
        (_SPELLED, _parse_python_ptx),
    ):
        places += [
            (match.start(), parse(match)) for match, _ in zip(pattern.finditer(text), range(_MOST), strict=False)
        ]
    if "nv" in text or "gpu." in text:
        for match, _ in zip(_OPERATION.finditer(text), range(_MOST), strict=False):
            places.append(
                (match.start(), _parse_operation(match["op"], text[match.end("op") : match.end("op") + _NEAR]))
            )
    for names in (tensor_compilers, library_names):
        places += names.list_spellings(text)
    for _, spelled in sorted(places, key=lambda place: place[0]):
        if spelled:
            yield spelled


def _parse_python_ptx(match: re.Match[str]) -> list[str]:
    """Parse T.ptx.mma.sync.…: PTX in Python, `::` spelled `__`."""
    if re.match(r"[^\"'\])(]*\{", match.string[match.start("name") :][:160]):
        return []
    name = match["name"].replace("__", "::").rstrip(".")
    return [name] if re.search(r"\.m\d+n\d+", name) or short_names.find_instruction(name) is not None else []


def _parse_intrinsic(match: re.Match[str]) -> list[str]:
    words = [word for word in re.split(r"[.]", match["name"].replace("_p64", "-p64").replace("_p32", "-p32")) if word]
    words = [word.replace("-", "_") for word in words if not re.fullmatch(r"p[013]", word)]
    if len(words) < 2:
        return []
    if words[0].endswith("matrix"):
        at = next((n for n, word in enumerate(words) if re.fullmatch(r"b(8|16)\w*", word)), len(words))
        return [".".join((*words[:at], "shared", *words[at:]))]
    if words[0] == "mma":
        return _parse_mma(words[1:])
    return _parse_wmma(words[1:])


def _parse_julia(match: re.Match[str]) -> list[str]:
    """Parse llvm_wmma_mma_col_row_m16n16k16_f32_f32 and llvm_wmma_load_a_col_m16n16k16_global_stride_f16 of CUDA.jl."""
    words = [word for word in match["name"].split("_") if word not in ("global", "shared", "")]
    shapes = [word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word)]
    return _parse_wmma([shapes[0], *(word for word in words if word != shapes[0])]) if shapes else []


def _parse_mma(words: list[str]) -> list[str]:
    head = ["mma"]
    if words[:1] == ["sp"]:
        head, words = ["mma.sp"], words[1:]
        if words[:2] == ["ordered", "metadata"]:
            head, words = ["mma.sp::ordered_metadata"], words[2:]
    of_bits = [word for word in words if word in ("and", "xor", "popc")]
    types = [TYPES[word] for word in words if word in TYPES]
    rest = [word for word in words if word not in TYPES and word not in of_bits]
    four = _parse_types(types)
    if not four:
        return []
    return [".".join((*head, "sync.aligned", *rest, four, *of_bits))]


def _parse_types(types: list[str]) -> str:
    """Parse the types D, A, B, C in an intrinsic's name.

    The name has all four, D and C for f16, A and B if they differ, or one type for both.
    """
    if len(types) == 4:
        return ".".join(types)
    if len(types) == 2 and set(types) <= {"f16", "f32"}:
        return f"{types[0]}.f16.f16.{types[1]}"
    if len(types) in (1, 2) and types[0] in _SUMS:
        return f"{_SUMS[types[0]]}.{types[0]}.{types[-1]}.{_SUMS[types[0]]}"
    return ""


def _parse_wmma(words: list[str]) -> list[str]:
    """Parse llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16 and …mma.row.col.f32.f32."""
    shape, words = words[0], [word for word in words[1:] if word not in ("stride", "sync", "aligned")]
    if words[:1] and words[0] in ("load", "store") and len(words) == 4:
        return [f"wmma.{words[0]}.{words[1]}.sync.aligned.{words[2]}.{shape}.{words[3]}"]
    if words[:1] == ["mma"]:
        types = [TYPES[word] for word in words if word in TYPES]
        rest = [word for word in words[1:] if word not in TYPES]
        layouts = [word for word in rest if word in ("row", "col")]
        short = ".".join(types) if len(types) == 2 and set(types) <= {"f16", "f32"} else _parse_types(types)
        return [".".join(("wmma.mma.sync.aligned", *layouts, shape, short, *(w for w in rest if w not in layouts)))]
    return []


def _parse_shape(text: str) -> str:
    """Parse m, n and k of an attribute in any order: #nvvm.shape<m = 64, n = 8, k = 32>, {k = 16 : i32, …}."""
    sizes = dict(re.findall(r"\b([mnk]) ?= ?(\d+)", text))
    return f"m{sizes['m']}n{sizes['n']}k{sizes['k']}" if len(sizes) >= 3 and set("mnk") <= set(sizes) else ""


def _parse_element(text: str) -> str:
    """Return the element type of the last vector or scalar type in a text; "" if there is none."""
    elements = re.findall(r"(?:(?<=x)|(?<![\w.]))(bf16|tf32|f8E4M3FN|f8E5M2|f16|f32|f64|i32|i8|i4)\b", text)
    return TYPES[elements[-1]] if elements else ""


@dataclass(frozen=True, slots=True)
class _Product:
    """A warp-level product in MLIR: shape and layouts as in PTX, and the types of A, B and D."""

    shape: str
    layouts: str
    types: tuple[str, ...]


def _parse_operation(op: str, rest: str) -> list[str]:
    if op.endswith("matrix"):  # ldmatrix, stmatrix
        return _parse_move(op, rest)
    if op.startswith("nvvm.wgmma"):
        return _parse_wgmma(rest)
    if op == "nvgpu.warpgroup.mma":
        return _parse_warpgroup(rest)
    product = _parse_nvgpu_product(rest) if op.startswith(("nvgpu", "gpu")) else _parse_nvvm_product(rest)
    if product is None or len(product.types) != 3 or not all(product.types):
        return []
    a, b, c = product.types
    a, b = ("tf32" if element == "f32" else element for element in (a, b))
    more = ".satfinite" if re.search(r"mma_int_overflow<satfinite>", rest) else ""
    bits = re.search(r"mma_b1op<(and|xor)_popc>", rest)
    tail = f".{bits[1]}.popc" if bits else ""
    orders = (".sp", ".sp::ordered_metadata") if ".sp." in op else ("",)
    return [
        f"mma{order}.sync.aligned.{product.shape}.{product.layouts}{more}.{c}.{a}.{b}.{c}{tail}" for order in orders
    ]


def _parse_nvgpu_product(rest: str) -> _Product | None:
    """Parse nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, …)."""
    sizes = re.search(r"mmaShape ?= ?\[ ?(\d+), ?(\d+), ?(\d+) ?\]", rest)
    types = re.search(r": ?\(([^()]*)\)", rest)
    if not sizes or not types:
        return None
    vectors = re.findall(r"vector<[^>]*>", types[1])[:3]
    return _Product("m{}n{}k{}".format(*sizes.groups()), "row.col", tuple(_parse_element(vector) for vector in vectors))


def _parse_nvvm_product(rest: str) -> _Product | None:
    """Parse nvvm.mma.sync A[…] B[…] C[…] {layoutA = …, shape = #nvvm.shape<…>} : (vector<2xf16>, …) -> …"""
    shape = _parse_shape(rest)
    match = re.search(r"\} ?: ?\(([^()]*)\) ?-> ?(.{0,80})", rest, re.S)
    parts = re.findall(r"vector<[^>]*>|[\w.]+", match[1]) if match else []
    if not shape or len(parts) != 3:
        return None
    lays = dict(re.findall(r"layout([AB]) ?= ?#nvvm\.mma_layout<(row|col)>", rest))
    operand_types = dict(re.findall(r"multiplicand([AB])PtxType ?= ?#nvvm\.mma_type<(\w+)>", rest))
    types = (
        operand_types.get("A") or _parse_element(parts[0]),
        operand_types.get("B") or _parse_element(parts[1]),
        _parse_element(parts[2]),
    )
    return _Product(shape, f"{lays.get('A', 'row')}.{lays.get('B', 'col')}", types)


def _parse_move(op: str, rest: str) -> list[str]:
    """Parse ldmatrix and stmatrix: number of matrices, transposed or not; 8×8 of 16 bits unless a shape is named."""
    first = rest[: rest.find("\n%") if "\n%" in rest else len(rest)]
    count = re.search(r"\b(?:num|numTiles) ?= ?(\d)", first)
    match = re.match(r"[ ]?(%[\w.]+(?: ?, ?%[\w.#]+)*)", first)
    of = count[1] if count else str(match[1].count(",")) if op.endswith("stmatrix") and match else ""
    if not of:
        return []
    trans = ".trans" if re.search(r"mma_layout<col>|transpose ?= ?true", first) else ""
    sizes = re.search(r"\bm = (\d+), n = (\d+)", first)
    element = re.search(r"elt_type<([\w.]+)>", first)
    shape = f"m{sizes[1]}n{sizes[2]}" if sizes else "m8n8"
    return [f"{op.split('.')[-1]}.sync.aligned.{shape}.x{of}{trans}.shared.{element[1] if element else 'b16'}"]


def _parse_wgmma(rest: str) -> list[str]:
    shape = _parse_shape(rest[:240])
    kinds = {
        name: next((TYPES[word] for word in re.findall(r"<(\w+)>", inside) if word in TYPES), "")
        for name, inside in re.findall(r"(?<!\w)([DAB]) ?\[([^\]]{0,160})\]", rest)
    }
    a, b = kinds.get("A", ""), kinds.get("B", "")
    if not shape or not a or not b:
        return []
    sums = [kinds["D"]] if kinds.get("D") else [_SUMS[a]] if a in _SUMS else ["f32", "f16"]
    sat = ".satfinite" if "satfinite" in rest[:600] and sums == ["s32"] else ""
    return [f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}{sat}" for d in sums]


def _parse_warpgroup(rest: str) -> list[str]:
    """Parse nvgpu.warpgroup.mma over whole tiles: instructions of 64 rows, all of N, and 32 bytes of K."""
    memrefs = re.findall(r"memref<(\d+)x(\d+)x(\w+)", rest)
    sums = re.search(r"vector<\d+x(\d+)x(\w+)>", rest)
    if len(memrefs) < 2 or not sums or memrefs[0][2] not in TYPES:
        return []
    kind = "tf32" if memrefs[0][2] in ("f32", "tf32") else TYPES[memrefs[0][2]]
    k = {"tf32": 8, "f16": 16, "bf16": 16}.get(kind, 32)
    d = TYPES.get(sums[2], "")
    return [f"wgmma.mma_async.sync.aligned.m64n{sums[1]}k{k}.{d}.{kind}.{kind}"] if int(sums[1]) <= 256 else []


def _parse_load(arguments: str) -> list[str]:
    """Parse the arguments of ptx_ldmatrix("float16", transposed, matrices, ".b16", …) of TVM; TileLang has no types."""
    load = _LOAD.match(arguments)
    if not load:
        return []
    trans = ".trans" if load["trans"] in ("True", "1") else ""
    return [f"ldmatrix.sync.aligned.m8n8.x{load['count']}{trans}.shared.b16"]


def _parse_call(match: re.Match[str]) -> list[str]:
    """Parse ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", …) of TVM and TileLang."""
    arguments = match["arguments"]
    if match["op"] == "ptx_ldmatrix":
        return _parse_load(arguments)
    shape = re.search(r"[\"'](m\d+n\d+k\d+)[\"']", arguments)
    if not shape:
        return []
    types = [TYPES[word] for word in _TYPE.findall(arguments[shape.end() :])][:3]
    if len(types) != 3:
        return []
    a, b, c = types
    if "wgmma" in match["op"]:
        kind = "tf32" if a == "f32" else a
        return [f"wgmma.mma_async.sync.aligned.{shape[1]}.{c}.{kind}.{'tf32' if b == 'f32' else b}"]
    rows = re.findall(r"[\"'](row|col)[\"']", arguments[shape.end() :])[:2]
    if len(rows) != 2:
        return []
    kind = "mma.sp" if "_sp" in match["op"] else "mma"
    return [f"{kind}.sync.aligned.{shape[1]}.{'.'.join(rows)}.{c}.{a}.{b}.{c}"]
