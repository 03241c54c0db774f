"""Choose the functions to run by themselves: those that may build a descriptor or a tensor map, or have inline PTX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lanescope.cxx.source_text import KERNEL_WORDS, blank_comments, is_kernel_head, list_macros
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.naming.definitions import find_owner
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.construction import run_constructor_entry
from lanescope.reader.code.preprocessing.used_functions import Entry, drop_unused
from lanescope.reader.code.running.work_words import BIT_FIELD, WORDS, find_working_names, has_work, may_work
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Block, UnreadText
from lanescope.reader.code.values import OpaqueValue, ResolvedType, TemplateEntity

# A text without any of these builds no descriptor and no tensor map, and has no instruction.
CLUE = re.compile(
    r"desc|<<|\|=|bitfield|layout_type|start_address|byte_offset|(?<!nvgpu\.)tensor_?map|make_tma|tma_atom"
    r"|make_tensor_desc|swizzle|gmma"
    r"|umma|matrix_d|:\s{0,9}14\s{0,9}[,;]|\basm\b|\b__asm__\b|_fragment_[AB]\b",
    re.I,
)
_LAUNCH = re.compile(r"<<<|cudaLaunch")
_TEMPLATE, _LONGEST_HEAD = re.compile(r"\btemplate\s*<[^;{}]*>\s*\Z"), 1000
_ASM = re.compile(r"\b(?:asm|__asm__)\b")
# after the name of a called function; Triton's kernel[grid](…)
_CALLED = r"\s{0,8}(?:<(?:[^;{}()]|\([\w:]*\)){0,600}>\s{0,8}(?:::\w+\s{0,8})?)?(?:[({]|<<<|\[[^\]\n;]{1,80}\]\()"
# after the name of a function used as a value: auto kernel = debug ? gemm<128, true> : gemm<128, false>;
_TAKEN = r"\s{0,8}<(?:[^;{}()]|\([\w:]*\)){0,600}>\s{0,8}[;:,)]"
_AFTER_USED = re.compile(f"{_CALLED}|{_TAKEN}")
# before the name of a function that is not a template: kernel = &gemm; or cudaLaunchKernelEx(&config, gemm, a, b)
_LAUNCHES = r"(?:=|cudaLaunch\w{1,40}\([^;{}]{0,200}?[(,)])\s{0,8}&?"
# before a kernel, or a template that launches it, passed to another function: run(argc, argv, gemm)
_PASSED = r"[(,]\s{0,8}&?"


def has_clue(text: str) -> bool:
    """Return whether a text may build a descriptor or a tensor map, or has an instruction."""
    return "<<" in text or CLUE.search(text) is not None


def list_entries(ev: Evaluator, body: tuple[tree.Statement, ...], text: str) -> tuple[list[Entry], list[Entry]]:
    """Return (uncalled functions, called functions) that have a clue or call a function with one.

    Each comes with its class and the scope of its namespace. Functions that lead to nothing checked are omitted.
    """
    given = list(_list_functions(ev, body, None, ev.globals))
    functions = drop_unused(given, text, ev.headers)
    ev.unused_spans = tuple(_list_unused(given, functions, text))
    fields, macros = set(_list_bit_field_structs(body, text)), _list_working_macros(text)
    unrestricted = ev.asks_every_instruction
    if not (ev.python or fields or has_work(functions, text, unrestricted)):
        return [], []
    named = fields | macros
    checked = None if ev.python or unrestricted else find_working_names(functions, body, text, fields)
    ev.idle_kernels = _list_idle_kernels(functions, text, checked)
    ev.working_names, ev.host_spans = checked, tuple(_list_host_spans(functions, text))
    with_clue, called_names = _find_names_with_clues(functions, text, named)
    structors = {f.name for f, owner, _ in functions if owner is not None and f.name in (owner.name, f"~{owner.name}")}
    called_names |= structors | {f.name for f, _, _ in functions if f.name.startswith("operator")}
    chosen = [
        entry for entry in functions if entry[0].name in with_clue and (checked is None or entry[0].name in checked)
    ]
    return [entry for entry in chosen if entry[0].name not in called_names], [
        entry for entry in chosen if entry[0].name in called_names
    ]


def _list_unused(given: Sequence[Entry], used: Sequence[Entry], text: str) -> list[Span]:
    """List the spans of functions that are not among the used ones, and of their classes, sorted. Left out are
    operators, which no word names, functions that a macro makes or that launch kernels, and all of them if macros paste
    words to names.
    """
    kept, spans = set(map(id, used)), {entry[0].span for entry in used}
    left = [entry for entry in given if id(entry) not in kept and entry[0].span not in spans]
    parts = ((one, text[slice(*one.span)]) for one, _, _ in left)
    written = {
        one.span for one, of in parts if one.name in WORDS.findall(of.partition("{")[0]) and not _LAUNCH.search(of)
    }
    classes = {owner.span for _, owner, _ in left if owner is not None and not _LAUNCH.search(text, *owner.span)}
    classes -= {o.span for f, o, _ in given if o is not None and f.name.startswith("operator")}
    classes -= {owner.span for _, owner, _ in used if owner is not None}
    written |= {(_find_head(text, first), past) for first, past in classes}
    return sorted(written) if written and "##" not in blank_comments(text) else []


def _find_head(text: str, first: int) -> int:
    """Return where the head of a template begins before its class."""
    head = _TEMPLATE.search(text, max(0, first - _LONGEST_HEAD), first)
    return head.start() if head is not None else first


def find_idle_blocks(ev: Evaluator, body: tuple[tree.Statement, ...], text: str) -> frozenset[int]:
    """Return the ids of the blocks outside functions that lead to nothing checked, such as a body of TEST(name)."""
    blocks = [statement for statement in body if isinstance(statement, Block)]
    if not blocks or ev.python or ev.asks_every_instruction:
        return frozenset()
    functions = drop_unused(list(_list_functions(ev, body, None, ev.globals)), text, ev.headers)
    fields = set(_list_bit_field_structs(body, text))
    if not fields and not has_work(functions, text, False):
        working: frozenset[str] | None = frozenset()
    else:
        working = find_working_names(functions, body, text, fields)
    return frozenset(id(block) for block in blocks if not may_work(text, block.span, working))


def _list_idle_kernels(functions: Sequence[Entry], text: str, working: frozenset[str] | None) -> frozenset[int]:
    """List the kernels that a launch may skip: all kernels if none of them does anything checked, else none.

    If one kernel is checked, the others run too, so that it is reached after the same steps.
    """
    kernels = [f for f, _, _ in functions if _is_kernel(f, text)]
    if working is None or any(kernel.name in working for kernel in kernels):
        return frozenset()
    return frozenset(kernel.key for kernel in kernels)


def _list_host_spans(functions: Sequence[Entry], text: str) -> Iterator[Span]:
    """Yield the spans of functions that run on the host; none if the text has no kernel."""
    device = {"__device__", *KERNEL_WORDS}
    device |= {name for name, body in list_macros(text) if not device.isdisjoint(WORDS.findall(body))}
    heads = [(f.span, WORDS.findall(text[slice(*f.span)].partition("{")[0])) for f, _, _ in functions]
    if any(not KERNEL_WORDS.isdisjoint(head) for _, head in heads):
        yield from (span for span, head in heads if device.isdisjoint(head))


def _is_kernel(function: tree.Function, text: str) -> bool:
    return is_kernel_head(text[slice(*function.span)].partition("{")[0])


def is_never_instantiated(ev: Evaluator, entry: Entry, entries: Sequence[Entry], uninstantiated: set[int]) -> bool:
    """Return whether a function is a template without instances.

    It is one if every function that names it calls it, and has been run without reaching the call. uninstantiated: keys
    of the functions found so before.
    """
    function, owner, _ = entry
    if not function.templates or owner is not None or ev.python or function.name in ev.unread_calls:
        return False
    callers = []
    for other, _, _ in entries:
        body = _read_function(other, ev.text)
        mentions = len(re.findall(rf"\b{function.name}\b", body)) if other.name != function.name else 0
        if mentions:
            callers.append(
                mentions == len(re.findall(rf"\b{function.name}{_CALLED}", body))
                and (other.key in ev.called or other.key in uninstantiated)
            )
    return bool(callers) and all(callers)


def _list_bit_field_structs(body: tuple[tree.Statement, ...], text: str) -> Iterator[str]:
    """Yield the names of structs that may be a descriptor's bit fields; a function with such an object builds one."""
    for statement in body:
        if isinstance(statement, tree.StructDefinition | tree.Alias) and BIT_FIELD.search(text, *statement.span):
            yield statement.name
        elif isinstance(statement, tree.Namespace):
            yield from _list_bit_field_structs(statement.body, text)


def _list_working_macros(text: str) -> set[str]:
    """List the macros that expand to inline assembly or to a launch, directly or through other macros."""
    bodies = dict(list_macros(text))
    macros = {name for name, body in bodies.items() if _ASM.search(body) or "<<<" in body}
    while added := {name for name, body in bodies.items() if name not in macros and macros & set(WORDS.findall(body))}:
        macros |= added
    return macros


def _find_names_with_clues(functions: Sequence[Entry], text: str, structs: set[str]) -> tuple[set[str], set[str]]:
    """Return (names of functions with a clue, names of those that are called).

    A function has a clue if its text does, if it names one of `structs`, or if it calls a function with a clue.
    """
    texts = {id(f): _read_function(f, text) for f, _, _ in functions}
    words = {key: set(WORDS.findall(body)) for key, body in texts.items()}
    with_clue = {f.name for f, _, _ in functions if CLUE.search(texts[id(f)]) or words[id(f)] & structs}
    while True:
        callers = {f.name for f, _, _ in functions if f.name not in with_clue and words[id(f)] & with_clue}
        if not callers:
            break
        with_clue |= callers
    called_names: set[str] = set()
    passed = {f.name for f, _, _ in functions if f.templates or _is_kernel(f, text)}
    for f, _, _ in functions:
        for name in (words[id(f)] & with_clue) - {f.name} - called_names:
            body = texts[id(f)]
            if _is_used(name, body, f"(?:{_LAUNCHES}|{_PASSED})" if name in passed else _LAUNCHES):
                called_names.add(name)
    return with_clue, called_names


def _is_used(name: str, body: str, before: str) -> bool:
    """Return whether a text calls a function, or takes it as a value. before: the pattern of what stands before it."""
    if any(_AFTER_USED.match(body, found.end()) for found in re.finditer(rf"\b{name}", body)):
        return True
    return re.search(rf"{before}\b{name}\s{{0,8}}[;,)]", body) is not None


def _read_function(function: tree.Function, text: str) -> str:
    """Return the text of a function; if a macro writes its body, with the macros that its text names."""
    part = text[slice(*function.span)]
    macros = dict(list_macros(text)) if "{" not in part else {}
    names = [name for name in WORDS.findall(part) if name in macros]
    for name in names:
        names += [inner for inner in WORDS.findall(macros[name]) if inner in macros and inner not in names]
    return " ".join((part, *(macros[name] for name in names)))


def _list_functions(
    ev: Evaluator, body: tuple[tree.Statement, ...], owner: tree.StructDefinition | None, scope: NameScope
) -> Iterator[Entry]:
    for statement in body:
        if isinstance(statement, tree.Function) and statement.body is not None and not statement.deleted:
            if not statement.owner:
                yield statement, owner, scope
            elif (struct := _find_struct(ev, statement, scope)) is not None:
                yield statement, struct, scope
        elif isinstance(statement, tree.StructDefinition):
            yield from _list_functions(ev, statement.members, statement, scope)
        elif isinstance(statement, tree.Namespace) and id(statement) in ev.namespace_scopes:
            yield from _list_functions(ev, statement.body, None, ev.namespace_scopes[id(statement)])
        elif isinstance(statement, UnreadText):
            yield from _list_functions(ev, statement.body, owner, scope)


def _find_struct(ev: Evaluator, function: tree.Function, scope: NameScope) -> tree.StructDefinition | None:
    """Return the class of a member function that is defined outside it; None if unknown."""
    owner = find_owner(ev, function.owner, scope)
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
    chosen = next((f for f in closure.functions if f.span == function.span), function) if closure else function
    home = closure.get_home(chosen) if closure is not None else record.scope
    this: Any = ev.make_instance(record, "" if function.name == owner.name else "this")
    if function.name == owner.name:
        run_constructor_entry(ev, chosen, home, this, record)
        return
    this.loose = True
    if record.fields is not None:
        this = OpaqueValue("this", kind)
    else:
        ev.forget_place(Cell(this))
    ev.run_entry(chosen, home, this)
