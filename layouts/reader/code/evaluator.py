"""The evaluator of code: its state, and the operations by which its modules reach each other."""

from __future__ import annotations

import re
from typing import Any

from lanescope.reader.code import (
    allocating,
    asm_statements,
    assignments,
    branches,
    call_arguments,
    call_evaluation,
    candidates,
    construction,
    conversions,
    declarations,
    definitions,
    execution,
    expressions,
    findings,
    foreign_unions,
    forgetting,
    initializers,
    instances,
    library_calls,
    lifetimes,
    loops,
    member_initialization,
    members,
    name_resolution,
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
from lanescope.reader.code.expressions import CallFrame
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.memory import OutsideMemory
from lanescope.reader.code.paths import EscapedPath, JumpTarget
from lanescope.reader.code.run_records import MemoryStore, SkippedCode
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, TextMark
from lanescope.reader.code.write_summaries import WriteSummaries

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
        self.frames: list[CallFrame] = []
        self.loops: list[tuple[str, SymbolicInt]] = []
        self.temporaries: list[tuple[Any, str]] = []  # objects that the expression has made, and how they end
        self.haunting: list[Any] | None = []  # objects of which it is not known when they end, None: it may be any
        self.haunted = False  # whether these are being looked at
        self.log: list[tuple[Cell, Any]] = []  # what each write took the place of
        self.branches: list[int] = []  # where the log stood when the branches that are being followed began
        self.arms: list[tuple[int, int]] = []  # which these are: their fork, and which of its arms
        self.forks = 0
        self.gone: list[EscapedPath] = []  # the paths that left and have not been joined
        self.targets: list[JumpTarget] = []  # the loops and switches around
        self.tries: list[tuple[list[EscapedPath], int]] = []  # paths that throw, of each try block around
        self.caught: Any = None  # the exception that is being handled
        self.statements: set[int] = set()  # expressions that are statements
        self.given: dict[str, int] = {}  # values of names that the text leaves open
        self.launched: set[tuple[str, ...]] = set()  # kernels with the arguments that they were run with
        self.given_names: dict[str, str] = {}  # types and enumerators that template parameters are given
        self.idle_kernels: frozenset[int] = frozenset()  # kernels that a launch need not run
        self.asks_every_instruction = False  # whether all that kernels run is asked for, not what is checked alone
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
        self.memory = OutsideMemory()  # what stands behind pointers to no variable of the text
        self.written_memory = False
        self.inner_words: dict[Any, Any] = {}  # 64-bit members of larger structs, as variables
        self.renewed: dict[str, int] = {}  # how many values of a name have been forgotten
        self.most_calls = 24  # nested
        self.globals: Any = None
        self.prelude: Any = None
        self.unions: frozenset[str] = frozenset()  # members that tell a descriptor's union which the text lacks
        self.found: list[FoundDescriptor] = []
        self.made: list[BodilessCall] = []
        self.assembled: list[AsmRun] = []
        self.skipped: list[SkippedCode] = []
        self.stored: list[MemoryStore] = []
        self.summaries = WriteSummaries()
        self.misread = False  # whether the statement took a variable for a template
        self.noted = 0  # values that were found to be descriptors, in their order
        self.ran = 0  # asm statements and calls without a body
        self.alike: dict[Any, Any] = {}  # what an asm statement that depends on its inputs alone left, by them
        self.writes: frozenset[str] | None = None  # names that the text writes, once they are asked for
        self.left_over: set[str] = set()  # pointers that were there before the function that is run
        self.lent: dict[str, Cell] = {}  # variables whose address in the shared window was taken, by its symbol
        self.endless: set[str] = set()  # variables of loops whose end the text leaves open
        self.cut: set[str] = set()  # variables of loops of which not every turn was run
        self.loose: set[str] = set()  # names that the text computes with and does not declare
        self.recast: set[str] = set()  # those that are cast to a pointer to another type
        self.foreign: dict[str, str] = {}  # types and objects that the text does not define → whose members they have
        self.widened: set[str] = set()  # those that are cast to an integer of 64 bits with a step added
        self.warned: dict[tuple[str, Span], Pitfall] = {}
        self.lane_choices: dict[Any, Any] = {}  # by the bits of what a comparison of the lane chose
        self.often: dict[str, int] = {}  # calls without a body, by name
        self.called: set[int] = set()
        self.named_instances: dict[int, list[Any]] = {}  # that nothing may launch, by their functions
        self.unread_calls: set[str] = set()  # names of functions whose calls were not evaluated
        self.headers: tuple[Span, ...] = ()  # parts of the text that are not its own, but what it includes
        self.opening: set[int] = set()  # aliases whose meaning is being looked up
        self.bottomless: set[int] = set()  # functions that call themselves deeper than any call that ends
        self.standard: dict[
            str, str
        ] = {}  # functions without code that build the descriptor of a K-major tile: swizzle
        self.taken: dict[str, None] = {}  # functions without code that were taken as PTX's encode
        self.records: dict[Any, Any] = {}
        self.bit_fields: dict[str, str] = {}  # structs of 64 bits → the descriptor format that their bit fields have
        self.casting = False  # whether a conversion is asked for by a cast
        self.wraps = False  # whether a value is written that is meant to be cut
        self.foreign_fields: set[tuple[TextMark, ...]] = set()  # the marks of what has bit fields of no descriptor
        self.told: set[tuple[TextMark, ...]] = set()  # the marks of what was found to be a descriptor

    # findings
    check_operation = findings.check_operation
    is_descriptor = findings.is_descriptor
    mark_operand = findings.mark_operand
    narrow_value = findings.narrow_value
    note_variable = findings.note_variable
    note_value = findings.note_value
    check_field_overflow = findings.check_field_overflow
    update_noted = findings.update_noted
    make_uninitialised = findings.make_uninitialised
    list_running_functions = findings.list_running_functions
    format_expression = findings.format_expression
    # paths
    follow_alternatives = paths.follow_alternatives
    keep_escape = paths.keep_escape
    follow_branch = paths.follow_branch
    make_fork = paths.make_fork
    write_cell = paths.write_cell
    rejoin_paths = paths.rejoin_paths
    restore_last_path = paths.restore_last_path
    rewrite_log = paths.rewrite_log
    list_writes_since = paths.list_writes_since
    # construction
    begin_member = member_initialization.begin_member
    run_constructor_entry = construction.run_constructor_entry
    construct_object = construction.construct_object
    copy_object_members = construction.copy_object_members
    forget_members = construction.forget_members
    make_instance = construction.make_instance
    run_constructor = construction.run_constructor
    # initializers
    construct_value = initializers.construct_value
    make_default = initializers.make_default
    evaluate_initializer = initializers.evaluate_initializer
    make_text_array = initializers.make_text_array
    # foreign_unions
    make_descriptor_object = foreign_unions.make_descriptor_object
    # conversions
    convert_to_kind = conversions.convert_to_kind
    convert_object_to_integer = conversions.convert_object_to_integer
    make_part_object = conversions.make_part_object
    make_name_pointer = conversions.make_name_pointer
    evaluate_shared_address = conversions.evaluate_shared_address
    slice_to_base = conversions.slice_to_base
    # name_resolution
    find_builtin_type = name_resolution.find_builtin_type
    define_later_member = name_resolution.define_later_member
    expand_pack = name_resolution.expand_pack
    evaluate_later_member = name_resolution.evaluate_later_member
    resolve_type = name_resolution.resolve_type
    get_value_type = name_resolution.get_value_type
    make_later_member = name_resolution.make_later_member
    find_named_type = name_resolution.find_named_type
    make_pack_scopes = name_resolution.make_pack_scopes
    resolve_name = name_resolution.resolve_name
    evaluate_template_argument = name_resolution.evaluate_template_argument
    evaluate_template_arguments = name_resolution.evaluate_template_arguments
    # instances
    apply_template = instances.apply_template
    make_pattern_evaluator = instances.make_pattern_evaluator
    make_template_argument_value = instances.make_template_argument_value
    # operators
    evaluate_binary = operators.evaluate_binary
    make_unknown = operators.make_unknown
    # call_evaluation
    call_function = call_evaluation.call_function
    evaluate_call = call_evaluation.evaluate_call
    find_declared_return_type = call_evaluation.find_declared_return_type
    # call_arguments
    make_copy_argument = call_arguments.make_copy_argument
    make_constructor_argument = call_arguments.make_constructor_argument
    make_argument = call_arguments.make_argument
    get_argument_value = call_arguments.get_argument_value
    evaluate_typed_arguments = call_arguments.evaluate_typed_arguments
    find_declared_type = call_arguments.find_declared_type
    evaluate_argument = call_arguments.evaluate_argument
    # candidates
    choose_function = candidates.choose_function
    deduce_arguments = candidates.deduce_arguments
    # parameters
    bind_parameters = parameters.bind_parameters
    make_this_scope = parameters.make_this_scope
    upcast_object = parameters.upcast_object
    # library_calls
    call_array_member = library_calls.call_array_member
    # side_effects
    forget_call = side_effects.forget_call
    # operator_calls
    evaluate_operator = operator_calls.evaluate_operator
    # python_calls
    evaluate_arguments = python_calls.evaluate_arguments
    get_item = python_calls.get_item
    list_items = python_calls.list_items
    # operations
    apply_integer_operator = operations.apply_integer_operator
    convert_object_to_number = operations.convert_object_to_number
    apply_operator = operations.apply_operator
    # sizing
    evaluate_sizeof = sizing.evaluate_sizeof
    # places
    take_address = places.take_address
    load_place = places.load_place
    find_place = places.find_place
    # pointers
    decay_array = pointers.decay_array
    evaluate_dereference = pointers.evaluate_dereference
    store_memory = pointers.store_memory
    find_target_place = pointers.find_target_place
    # views
    view_bits = views.view_bits
    # members
    member = members.member
    list_part_items = members.list_part_items
    # assignments
    assign_place = assignments.assign_place
    find_local_scope = assignments.find_local_scope
    # storing
    copy_assigned = storing.copy_assigned
    store_value = storing.store_value
    make_symbolic_value = storing.make_symbolic_value
    # expressions
    evaluate_for_effect = expressions.evaluate_for_effect
    enter_function = expressions.enter_function
    record_call = expressions.record_call
    make_key = expressions.make_key
    leave_function = expressions.leave_function
    evaluate_name = expressions.evaluate_name
    spend_step = expressions.spend_step
    evaluate_expression = expressions.evaluate_expression
    find_origin = expressions.find_origin
    # allocating
    has_own_allocation = allocating.has_own_allocation
    # lifetimes
    abandon_temporaries = lifetimes.abandon_temporaries
    assign_into = lifetimes.assign_into
    copy_construct = lifetimes.copy_construct
    copy_into = lifetimes.copy_into
    copy_members = lifetimes.copy_members
    destroy_object = lifetimes.destroy_object
    destroy_temporaries = lifetimes.destroy_temporaries
    destroy_variables = lifetimes.destroy_variables
    forget_pending_ends = lifetimes.forget_pending_ends
    note_library_objects = lifetimes.note_library_objects
    run_perhaps = lifetimes.run_perhaps
    release_object = lifetimes.release_object
    evaluate_full_expression = lifetimes.evaluate_full_expression
    # loops
    execute_loop = loops.execute_loop
    # asm_statements
    is_absent = asm_statements.is_absent
    give_earlier_value = asm_statements.give_earlier_value
    forget_entry_writes = asm_statements.forget_entry_writes
    may_asm_write = asm_statements.may_asm_write
    is_changed_before_entry = asm_statements.is_changed_before_entry
    copy_unshared = asm_statements.copy_unshared
    write_outputs = asm_statements.write_outputs
    # execution
    make_array = execution.make_array
    run_entry = execution.run_entry
    execute_statement = execution.execute_statement
    finish_function = execution.finish_function
    leave_block = execution.leave_block
    run_body = execution.run_body
    # definitions
    define = definitions.define
    find_owner = definitions.find_owner
    # declarations
    make_place_argument = declarations.make_place_argument
    assign_name = declarations.assign_name
    get_item_place = declarations.get_item_place
    # branches
    join_breaks = branches.join_breaks
    evaluate_chosen_arm = branches.evaluate_chosen_arm
    format_condition = branches.format_condition
    decide_condition = branches.decide_condition
    make_case_branch = branches.make_case_branch
    evaluate_both_arms = branches.evaluate_both_arms
    merge = branches.merge
    evaluate_truth = branches.evaluate_truth
    # forgetting
    forget_place = forgetting.forget_place
    forget_same_class = forgetting.forget_same_class
    forget_all = forgetting.forget_all
    forget_globals = forgetting.forget_globals
    forget_names = forgetting.forget_names
    make_fresh_name = forgetting.make_fresh_name
    forget_after_goto = forgetting.forget_after_goto
