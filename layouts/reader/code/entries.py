"""Functions that are worth running by themselves: those with a clue that they build a descriptor or a tensor map, or
that they have inline assembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lanescope.reader.code import tree
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.reached import Entry, drop_unreached
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.tree_statements import UnreadText
from lanescope.reader.code.values import OpaqueValue, ResolvedType, TemplateEntity
from lanescope.reader.code.work_words import WORDS, find_working_names, has_work, list_macros

# Words without which a text builds neither a descriptor nor a tensor map, and has no instruction.
CLUE = re.compile(
    r"desc|<<|\|=|bitfield|layout_type|start_address|byte_offset|(?<!nvgpu\.)tensor_?map|make_tma|tma_atom"
    r"|make_tensor_desc|swizzle|gmma"
    r"|umma|matrix_d|:\s{0,9}14\s{0,9}[,;]|\basm\b|\b__asm__\b|_fragment_[AB]\b",
    re.I,
)
_ASM = re.compile(r"\b(?:asm|__asm__)\b")
_BIT_FIELD = re.compile(r":\s{0,9}14\s{0,9}[,;]")  # of the width of a descriptor's start, LBO and SBO
# behind a name that is called; kernel[grid](…) of Triton
_CALLED = r"\s{0,8}(?:<(?:[^;{}()]|\([\w:]*\)){0,600}>\s{0,8}(?:::\w+\s{0,8})?)?(?:[({]|<<<|\[[^\]\n;]{1,80}\]\()"
# behind one that is taken as a value: auto kernel = debug ? gemm<128, true> : gemm<128, false>;
_TAKEN = r"\s{0,8}<(?:[^;{}()]|\([\w:]*\)){0,600}>\s{0,8}[;:,)]"
# before the name of one that is no template: kernel = &gemm; or cudaLaunchKernelEx(&config, gemm, a, b)
_LAUNCHES = r"(?:=|cudaLaunch\w{1,40}\([^;{}]{0,200}?[(,)])\s{0,8}&?"
_PASSED = r"[(,]\s{0,8}&?"  # before a kernel that a function of the text launches: run(argc, argv, gemm)


def list_entries(ev: Evaluator, body: tuple[tree.Statement, ...], text: str) -> tuple[list[Entry], list[Entry]]:
    """List the functions worth running by themselves, those with a clue or that call one with a clue: those that no
    function calls, and the others. Each has its class and the scope of its namespace. Left out are those that lead to
    nothing that is checked.
    """
    functions = drop_unreached(list(_list_functions(ev, body, None, ev.globals)), text, ev.headers)
    fields, macros = set(_list_bit_field_structs(body, text)), _list_asm_macros(text)
    every = ev.asks_every_instruction
    if not (ev.python or fields or has_work(functions, text, every)):
        return [], []
    named = fields | macros
    working = None if ev.python or every else find_working_names(functions, body, text, fields)
    ev.idle_kernels = _list_idle_kernels(functions, text, working)
    wanted, called = _find_names_with_clues(functions, text, named)
    special = {f.name for f, owner, _ in functions if owner is not None and f.name in (owner.name, f"~{owner.name}")}
    called |= special | {f.name for f, _, _ in functions if f.name.startswith("operator")}
    chosen = [one for one in functions if one[0].name in wanted and (working is None or one[0].name in working)]
    return [one for one in chosen if one[0].name not in called], [one for one in chosen if one[0].name in called]


def _list_idle_kernels(functions: Sequence[Entry], text: str, working: frozenset[str] | None) -> frozenset[int]:
    """List the kernels that a launch need not run: all, where nothing that is checked is done in any. Beside one in
    which something is, the others are run, so that it is reached after the same steps.
    """
    kernels = [f for f, _, _ in functions if _is_kernel(f, text)]
    if working is None or any(kernel.name in working for kernel in kernels):
        return frozenset()
    return frozenset(map(id, kernels))


def _is_kernel(function: tree.Function, text: str) -> bool:
    return "__global__" in text[slice(*function.span)].partition("{")[0]


def is_never_instantiated(ev: Evaluator, entry: Entry, entries: Sequence[Entry], left: set[int]) -> bool:
    """Return whether a function is a template of which no instance is made: every function that names it calls it, was
    run, and did not come to the call. left: functions of which that is known.
    """
    function, owner, _ = entry
    if not function.templates or owner is not None or ev.python or function.name in ev.unread_calls:
        return False
    callers = []
    for other, _, _ in entries:
        body = ev.text[slice(*other.span)]
        named = len(re.findall(rf"\b{function.name}\b", body)) if other.name != function.name else 0
        if named:
            callers.append(named == len(re.findall(rf"\b{function.name}{_CALLED}", body)) and _is_done(ev, other, left))
    return bool(callers) and all(callers)


def _is_done(ev: Evaluator, function: tree.Function, left: set[int]) -> bool:
    return id(function) in ev.called or id(function) in left


def _list_bit_field_structs(body: tuple[tree.Statement, ...], text: str) -> Iterator[str]:
    """Yield the names of structs that may be a descriptor's bit fields: functions with an object of one build one."""
    for one in body:
        if isinstance(one, tree.StructDefinition | tree.Alias) and _BIT_FIELD.search(text, *one.span):
            yield one.name
        elif isinstance(one, tree.Namespace):
            yield from _list_bit_field_structs(one.body, text)


def _list_asm_macros(text: str) -> set[str]:
    """List the macros that stand for inline assembly, one through another."""
    bodies = dict(list_macros(text))
    found = {name for name, body in bodies.items() if _ASM.search(body)}
    while more := {name for name, body in bodies.items() if name not in found and found & set(WORDS.findall(body))}:
        found |= more
    return found


def _find_names_with_clues(functions: Sequence[Entry], text: str, structs: set[str]) -> tuple[set[str], set[str]]:
    """Return the names of functions that have a clue, name one of some structs or macros or call one that does, and of
    those among them that are called.
    """
    words = {id(f): set(WORDS.findall(text[f.span[0] : f.span[1]])) for f, _, _ in functions}
    wanted = {f.name for f, _, _ in functions if CLUE.search(text[f.span[0] : f.span[1]]) or words[id(f)] & structs}
    while True:
        more = {f.name for f, _, _ in functions if f.name not in wanted and words[id(f)] & wanted}
        if not more:
            break
        wanted |= more
    called: set[str] = set()
    kernels = {f.name for f, _, _ in functions if _is_kernel(f, text)}
    for f, _, _ in functions:
        for name in (words[id(f)] & wanted) - {f.name} - called:
            body = text[f.span[0] : f.span[1]]
            before = f"(?:{_LAUNCHES}|{_PASSED})" if name in kernels else _LAUNCHES
            if re.search(rf"\b{name}(?:{_CALLED}|{_TAKEN})|{before}\b{name}\s{{0,8}}[;,)]", body):
                called.add(name)
    return wanted, called


def _list_functions(
    ev: Evaluator, body: tuple[tree.Statement, ...], owner: tree.StructDefinition | None, scope: NameScope
) -> Iterator[Entry]:
    for one in body:
        if isinstance(one, tree.Function) and one.body is not None and not one.deleted:
            if not one.owner:
                yield one, owner, scope
            elif (struct := _find_struct(ev, one, scope)) is not None:
                yield one, struct, scope
        elif isinstance(one, tree.StructDefinition):
            yield from _list_functions(ev, one.members, one, scope)
        elif isinstance(one, tree.Namespace) and id(one) in ev.spaces:
            yield from _list_functions(ev, one.body, None, ev.spaces[id(one)])
        elif isinstance(one, UnreadText):
            yield from _list_functions(ev, one.body, owner, scope)


def _find_struct(ev: Evaluator, function: tree.Function, scope: NameScope) -> tree.StructDefinition | None:
    """The class of a member function that is defined outside it."""
    owner = ev.find_owner(function.owner, scope)
    return owner.decl if isinstance(owner, TemplateEntity) and isinstance(owner.decl, tree.StructDefinition) else None


def run_function_alone(
    ev: Evaluator, function: tree.Function, owner: tree.StructDefinition | None, scope: NameScope
) -> None:
    if owner is None:
        ev.run_entry(function, scope)
        return
    template = scope.names.get(owner.name)
    if not isinstance(template, TemplateEntity) or template.decl is not owner:
        template = TemplateEntity(owner, scope, owner.templates)
    kind = ev.apply_template(template, [])
    record = kind.record if isinstance(kind, ResolvedType) else None
    if record is None:
        return
    closure = record.methods.get(function.name)
    own = next((f for f in closure.functions if f.span == function.span), function) if closure else function
    home = closure.get_home(own) if closure is not None else record.scope
    this: Any = ev.make_instance(record, "" if function.name == owner.name else "this")
    if function.name == owner.name:
        ev.run_constructor_entry(own, home, this, record)
        return
    this.loose = True
    if record.fields is not None:
        this = OpaqueValue("this", kind)
    else:
        ev.forget_place(Cell(this))
    ev.run_entry(own, home, this)
