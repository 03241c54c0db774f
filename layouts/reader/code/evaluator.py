"""The evaluator of code: its state, and the operations by which its modules reach each other."""

from __future__ import annotations

import re
from typing import Any

from lanescope.reader.code import (
    allocating,
    assembling,
    assigning,
    branches,
    call_arguments,
    calling,
    candidates,
    conversions,
    declarations,
    definitions,
    expressions,
    finding,
    foreign_unions,
    forgetting,
    initializers,
    instances,
    library_calls,
    lifetimes,
    loops,
    machine,
    making,
    members,
    naming,
    operations,
    operator_calls,
    operators,
    parameters,
    paths,
    places,
    pointers,
    python_calls,
    side_effects,
    sizing,
    storing,
    views,
)
from lanescope.reader.code.expressions import Frame
from lanescope.reader.code.finding import Assembled, Found, Made, Pitfall
from lanescope.reader.code.paths import Escape, Target
from lanescope.reader.code.values import Cell
from lanescope.reader.code.word import Int, Mark, Span
from lanescope.reader.code.writes import Summaries

_OPERATOR = re.compile(r"\boperator\s*([-+*/%^&|<>=!~[]{1,3})")


class Evaluator:
    """One text being evaluated.

    The state stands here. Each module of the package defines operations, functions that take the evaluator; those that
    other modules need are its methods.
    """

    def __init__(self, text: str, budget: int, python: bool = False) -> None:
        self.text = text
        self.python = python
        self.left = budget
        self.nested = 0
        self.reached = 0  # where the statement begins that is run
        self.frames: list[Frame] = []
        self.loops: list[tuple[str, Int]] = []
        self.temporaries: list[tuple[Any, str]] = []  # objects that the expression has made, and how they end
        self.haunting: list[Any] | None = []  # objects of which it is not known when they end, None: it may be any
        self.haunted = False  # whether these are being looked at
        self.log: list[tuple[Cell, Any]] = []  # what each write took the place of
        self.branches: list[int] = []  # where the log stood when the branches that are being followed began
        self.gone: list[Escape] = []  # the paths that left and have not been joined
        self.targets: list[Target] = []  # the loops and switches around
        self.tries: list[tuple[list[Escape], int]] = []  # paths that throw, of each try block around
        self.caught: Any = None  # the exception that is being handled
        self.statements: set[int] = set()  # expressions that are statements
        self.lasting: dict[Any, Any] = {}  # static variables of functions
        self.spaces: dict[int, Any] = {}  # the scopes of namespaces, by their statements
        self.operators: dict[str, Any] = {}  # operator functions outside classes, by name
        self.escaped: dict[int, Any] = {}  # places that functions without a body may have kept the address of
        self.begins = False  # whether main is run, before which nothing was
        self.statics: list[tuple[dict[Any, Any], Any, Any]] = []  # static members that were made: where, and from what
        self.globals_lost = False  # whether one was called, which may have written any variable of a namespace
        self.overloaded = frozenset(_OPERATOR.findall(text))
        self.enumerations: dict[str, Any] = {}  # the scopes that enumerations are in, by name
        self.instances: list[Any] = []  # templates that are being made
        self.memory: dict[Any, Any] = {}  # what stands behind pointers to no variable of the text
        self.written_memory = False
        self.inner_words: dict[Any, Any] = {}  # 64-bit members of larger structs, as variables
        self.renewed: dict[str, int] = {}  # how many values of a name have been forgotten
        self.most_calls = 24  # nested
        self.globals: Any = None
        self.prelude: Any = None
        self.unions: frozenset[str] = frozenset()  # members that tell a descriptor's union which the text lacks
        self.found: list[Found] = []
        self.made: list[Made] = []
        self.assembled: list[Assembled] = []
        self.summaries = Summaries()
        self.misread = False  # whether the statement took a variable for a template
        self.noted = 0  # values that were found to be descriptors, in their order
        self.ran = 0  # asm statements and calls without a body
        self.alike: dict[Any, Any] = {}  # what an asm statement that depends on its inputs alone left, by them
        self.writes: frozenset[str] | None = None  # names that the text writes, once they are asked for
        self.left_over: set[str] = set()  # pointers that were there before the function that is run
        self.lent: dict[str, Cell] = {}  # variables whose address in the shared window was taken, by its symbol
        self.endless: set[str] = set()  # variables of loops whose end the text leaves open
        self.loose: set[str] = set()  # names that the text computes with and does not declare
        self.recast: set[str] = set()  # those that are cast to a pointer to another type
        self.foreign: dict[str, str] = {}  # types and objects that the text does not define → whose members they have
        self.widened: set[str] = set()  # those that are cast to an integer of 64 bits with a step added
        self.warned: dict[tuple[str, Span], Pitfall] = {}
        self.often: dict[str, int] = {}  # calls without a body, by name
        self.called: set[int] = set()
        self.opening: set[int] = set()  # aliases whose meaning is being looked up
        self.bottomless: set[int] = set()  # functions that call themselves deeper than any call that ends
        self.standard: dict[
            str, str
        ] = {}  # functions without code that build the descriptor of a K-major tile: swizzle
        self.taken: dict[str, None] = {}  # functions without code that were taken as PTX's encode
        self.records: dict[Any, Any] = {}
        self.casting = False  # whether a conversion is asked for by a cast
        self.wraps = False  # whether a value is written that is meant to be cut
        self.told: set[tuple[Mark, ...]] = set()  # the marks of what was found to be a descriptor

    # finding
    check = finding.check
    is_descriptor = finding.is_descriptor
    mark = finding.mark
    narrowed = finding.narrowed
    note = finding.note
    notice = finding.notice
    overflow = finding.overflow
    renote = finding.renote
    uninitialised = finding.uninitialised
    within = finding.within
    words = finding.words
    # paths
    alternatives = paths.alternatives
    escape = paths.escape
    followed = paths.followed
    put = paths.put
    rejoin = paths.rejoin
    return_to = paths.return_to
    rewrite = paths.rewrite
    writes_since = paths.writes_since
    # making
    begin = making.begin
    construct_entry = making.construct_entry
    constructed = making.constructed
    copy_object = making.copy_object
    forgotten = making.forgotten
    instance = making.instance
    run_constructor = making.run_constructor
    # initializers
    construct = initializers.construct
    default = initializers.default
    initial = initializers.initial
    text_array = initializers.text_array
    # foreign_unions
    described = foreign_unions.described
    # conversions
    converted = conversions.converted
    decay = conversions.decay
    part_object = conversions.part_object
    pointed = conversions.pointed
    shared_address = conversions.shared_address
    sliced_to = conversions.sliced_to
    whole_number = conversions.whole_number
    # naming
    builtin_kind = naming.builtin_kind
    define_later = naming.define_later
    expanded = naming.expanded
    forced = naming.forced
    kind = naming.kind
    kind_of = naming.kind_of
    later = naming.later
    named_kind = naming.named_kind
    pack_scopes = naming.pack_scopes
    resolve = naming.resolve
    template_argument = naming.template_argument
    template_arguments = naming.template_arguments
    # instances
    applied = instances.applied
    pattern_evaluator = instances.pattern_evaluator
    template_argument_value = instances.template_argument_value
    # operators
    evaluate_binary = operators.evaluate_binary
    unknown = operators.unknown
    # calling
    call = calling.call
    evaluate_call = calling.evaluate_call
    return_kind = calling.return_kind
    # call_arguments
    argument_in = call_arguments.argument_in
    argument_like = call_arguments.argument_like
    argument_of = call_arguments.argument_of
    argument_value = call_arguments.argument_value
    arguments = call_arguments.arguments
    declared_kind = call_arguments.declared_kind
    evaluate_argument = call_arguments.evaluate_argument
    # candidates
    chosen = candidates.chosen
    # parameters
    bound = parameters.bound
    this_scope = parameters.this_scope
    upcast = parameters.upcast
    # library_calls
    call_array_member = library_calls.call_array_member
    # side_effects
    forget_call = side_effects.forget_call
    # operator_calls
    operator = operator_calls.operator
    # python_calls
    evaluate_arguments = python_calls.evaluate_arguments
    item = python_calls.item
    items_of = python_calls.items_of
    # operations
    binary = operations.binary
    number_of_object = operations.number_of_object
    operate = operations.operate
    # sizing
    evaluate_sizeof = sizing.evaluate_sizeof
    # places
    address_of = places.address_of
    load = places.load
    place = places.place
    # pointers
    decayed = pointers.decayed
    pointee_of = pointers.pointee_of
    store_memory = pointers.store_memory
    target = pointers.target
    # views
    viewed_bits = views.viewed_bits
    # members
    member = members.member
    part_items = members.part_items
    # assigning
    assign_place = assigning.assign_place
    local = assigning.local
    # storing
    copied = storing.copied
    store = storing.store
    symbolic = storing.symbolic
    # expressions
    drop = expressions.drop
    enter = expressions.enter
    kept = expressions.kept
    key = expressions.key
    leave = expressions.leave
    named = expressions.named
    spend = expressions.spend
    value = expressions.value
    written = expressions.written
    # allocating
    allocates = allocating.allocates
    # lifetimes
    abandon = lifetimes.abandon
    assign_into = lifetimes.assign_into
    copy_constructed = lifetimes.copy_constructed
    copy_into = lifetimes.copy_into
    copy_members = lifetimes.copy_members
    destroy = lifetimes.destroy
    destroy_temporaries = lifetimes.destroy_temporaries
    destroy_variables = lifetimes.destroy_variables
    haunt = lifetimes.haunt
    kept_by_library = lifetimes.kept_by_library
    perhaps = lifetimes.perhaps
    release = lifetimes.release
    whole_expression = lifetimes.whole_expression
    # loops
    execute_loop = loops.execute_loop
    # assembling
    absent = assembling.absent
    earlier = assembling.earlier
    forget_entry = assembling.forget_entry
    may_be_written = assembling.may_be_written
    outlives = assembling.outlives
    unshared = assembling.unshared
    write_outputs = assembling.write_outputs
    # machine
    array = machine.array
    entry = machine.entry
    execute = machine.execute
    finish = machine.finish
    leave_block = machine.leave_block
    run_body = machine.run_body
    # definitions
    define = definitions.define
    find_owner = definitions.find_owner
    # declarations
    argument_of_place = declarations.argument_of_place
    assign_name = declarations.assign_name
    item_place = declarations.item_place
    # branches
    after_breaks = branches.after_breaks
    chosen_arm = branches.chosen_arm
    condition_text = branches.condition_text
    decided = branches.decided
    enter_case = branches.enter_case
    evaluate_both_arms = branches.evaluate_both_arms
    merge = branches.merge
    truth = branches.truth
    whole = branches.whole
    # forgetting
    forget = forgetting.forget
    forget_alike = forgetting.forget_alike
    forget_all = forgetting.forget_all
    forget_globals = forgetting.forget_globals
    forget_names = forgetting.forget_names
    fresh = forgetting.fresh
    lose_control = forgetting.lose_control
