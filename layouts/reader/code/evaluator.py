"""The evaluator of code: its state, and the operations that its modules call on each other."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from lanescope.reader.code import findings
from lanescope.reader.code.calling import (
    call_arguments,
    call_evaluation,
    call_frames,
    candidates,
    operator_calls,
    parameters,
    python_calls,
)
from lanescope.reader.code.calling.call_frames import CallFrame
from lanescope.reader.code.expression import conversions, expressions, operations, places, storing
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor, Pitfall
from lanescope.reader.code.naming import declarations, definitions, name_resolution
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.objects import (
    construction,
    initializers,
    later_members,
    lifetimes,
    member_initialization,
    members,
    pointers,
)
from lanescope.reader.code.objects.memory import OutsideMemory
from lanescope.reader.code.ptx import asm_statements
from lanescope.reader.code.running import branches, execution, forgetting, paths, side_effects
from lanescope.reader.code.running.paths import EscapedPath, JumpTarget
from lanescope.reader.code.running.run_records import Calls, Fork, KernelLaunchRecord, MemoryStore, SkippedCode
from lanescope.reader.code.running.write_summaries import WriteSummaries
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, TextMark
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import instances, type_resolution
from lanescope.reader.code.values import ResolvedType

_OPERATOR = re.compile(r"\boperator\s*([-+*/%^&|<>=!~[]{1,3})")


class Evaluator:
    """The state of evaluating one text.

    Each module of the package defines operations, functions whose first parameter is the evaluator. The operations that
    other modules call are bound as methods below.
    """

    def __init__(self, text: str, budget: int, python: bool = False) -> None:
        self.text = text
        self.python = python
        self.steps_left = budget
        self.nesting = 0
        self.statement_start = 0  # start of the current statement
        self.frames: list[CallFrame] = []
        self.loops: list[tuple[str, SymbolicInt]] = []
        self.temporaries: list[tuple[Any, str]] = []  # objects that the current expression made, and how each ends
        self.pending_objects: list[Any] | None = []  # objects that may end at any time; None: any object may
        self.checking_pending = False  # whether their destructors are being run
        self.write_log: list[tuple[Cell, Any]] = []  # each write, with the value that it replaced
        self.branches: list[int] = []  # length of write_log at the start of each open branch
        self.branch_arms: list[tuple[int, int]] = []  # (fork, arm) of each open branch
        self.forks = 0
        self.escaped_paths: list[EscapedPath] = []  # paths that left early and are not yet merged
        self.jump_targets: list[JumpTarget] = []  # enclosing loops and switches
        self.try_blocks: list[tuple[list[EscapedPath], int]] = []  # throwing paths of each enclosing try block
        self.caught: Any = None  # the exception being handled
        self.statements: set[int] = set()  # expressions that are statements
        self.supplied_values: dict[str, int] = {}  # values that the caller supplies for undeclared names
        self.launched: set[tuple[str, ...]] = set()  # kernels that were launched, with their arguments
        self.supplied_names: dict[str, str] = {}  # types and enumerators supplied for template parameters
        self.derived_types: dict[int, tuple[ResolvedType, ResolvedType, tree.Type]] = {}  # by node: (type, its base)
        self.idle_kernels: frozenset[int] = frozenset()  # kernels with nothing to check, which a launch skips
        self.working_names: frozenset[str] | None = None  # names that lead to something checked; None: any may
        self.host_spans: tuple[Span, ...] = ()  # functions that run on the host
        self.unused_spans: tuple[Span, ...] = ()  # functions of headers that the text does not use, sorted
        self.checked_loops: dict[int, Any] = {}  # loops that may have something to check, by id
        self.asks_every_instruction = False  # whether every instruction is recorded, not only checked ones
        self.static_variables: dict[Any, Any] = {}  # static variables of functions
        self.namespace_scopes: dict[int, Any] = {}  # by the id of the namespace statement
        self.operators: dict[str, Any] = {}  # operator functions outside classes, by name
        self.escaped_places: dict[int, Any] = {}  # places whose address a bodiless function may have kept
        self.runs_main = False  # main runs before any other function
        self.static_members: list[
            tuple[dict[Any, Any], Any, Any]
        ] = []  # evaluated static members: where, and from what
        self.globals_lost = False  # a bodiless call may have written any global variable
        self.overloaded = frozenset(_OPERATOR.findall(text))
        self.enumerations: dict[str, Any] = {}  # the scope of each enumeration, by name
        self.instances: list[Any] = []  # templates being instantiated
        self.memory = OutsideMemory()  # memory that is no variable of the text
        self.written_memory = False
        self.inner_words: dict[Any, Any] = {}  # 64-bit members of larger structs, each as a variable
        self.fresh_name_counts: dict[str, int] = {}  # how often each name has become unknown
        self.most_calls = 24  # nested
        self.globals: Any = None
        self.prelude: Any = None
        self.unions: frozenset[str] = frozenset()  # members that identify a descriptor union the text lacks
        self.descriptors: list[FoundDescriptor] = []
        self.bodiless_calls: list[BodilessCall] = []
        self.filled_maps = 0
        self.asm_runs: list[AsmRun] = []
        self.asm_runs_before = 0  # how many of these the entry functions before this one ran
        self.overflowed: dict[str, int] = {}  # entry functions that ran more → the order of the first left out
        self.skipped: list[SkippedCode] = []
        self.skipped_counts: Counter[Calls] = Counter()  # by the first two calls around them
        self.memory_stores: list[MemoryStore] = []
        self.launches: list[KernelLaunchRecord] = []
        self.fork_records: list[Fork] = []
        self.summaries = WriteSummaries()
        self.misread_template = False  # the current statement reads a variable as a template
        self.noted_values = 0  # number of values found to be descriptors
        self.run_count = 0  # number of asm statements and bodiless calls
        self.asm_results: dict[Any, Any] = {}  # outputs of asm statements without side effects, by input
        self.writes: frozenset[str] | None = None  # names that the text writes; None until first used
        self.earlier_pointers: set[str] = set()  # pointers that precede the current entry function
        self.shared_addresses: dict[str, Cell] = {}  # variables whose shared-window address was taken, by symbol
        self.spent_loops: tuple[str, ...] = ()  # variables of the loops that ran when the budget was spent
        self.unbounded_variables: set[str] = set()  # variables of loops with an unknown bound
        self.cut_variables: set[str] = set()  # variables of loops that were run in part
        self.undeclared_names: set[str] = set()  # undeclared names in arithmetic
        self.recast_names: set[str] = set()  # undeclared names cast to a pointer to another type
        self.assumed_unions: dict[str, str] = {}  # undefined types and objects → the union whose members they have
        self.widened_names: set[str] = set()  # undeclared names cast to 64 bits after adding a step
        self.warned: dict[tuple[str, Span], Pitfall] = {}
        self.lane_choices: dict[Any, Any] = {}  # values chosen by a comparison of the lane, by their bits
        self.call_counts: dict[str, int] = {}  # bodiless calls, by name
        self.called: set[int] = set()
        self.named_instances: dict[
            int, list[Any]
        ] = {}  # instances that the text names without launching, by the key of the function
        self.unread_calls: set[str] = set()  # functions whose calls were not evaluated
        self.headers: tuple[Span, ...] = ()  # spans of included headers
        self.aliases_in_progress: set[int] = set()  # aliases being resolved
        self.recursive_aliases = 0  # how often an alias was found inside itself
        self.endless_recursions: set[int] = set()  # functions whose recursion does not end
        self.standard_functions: dict[
            str, str
        ] = {}  # bodiless function → swizzle of the K-major tile whose descriptor it builds
        self.encode_functions: dict[str, None] = {}  # bodiless functions taken to be PTX's matrix-descriptor-encode
        self.records: dict[Any, Any] = {}
        self.bit_fields: dict[str, str] = {}  # 64-bit struct → the descriptor format of its bit fields
        self.casting = False  # whether the conversion is a cast
        self.wraps = False  # whether the written value may be narrowed silently
        self.foreign_fields: set[tuple[TextMark, ...]] = (
            set()
        )  # marks of values with bit fields of no descriptor format
        self.descriptor_marks: set[tuple[TextMark, ...]] = set()  # marks of values found to be descriptors

    # findings
    narrow_value = findings.narrow_value
    note_variable = findings.note_variable
    note_value = findings.note_value
    update_noted = findings.update_noted
    list_running_functions = findings.list_running_functions
    format_expression = findings.format_expression
    # paths
    follow_alternatives = paths.follow_alternatives
    keep_escape = paths.keep_escape
    follow_branch = paths.follow_branch
    write_cell = paths.write_cell
    rejoin_paths = paths.rejoin_paths
    restore_last_path = paths.restore_last_path
    list_writes_since = paths.list_writes_since
    # construction
    begin_member = member_initialization.begin_member
    construct_object = construction.construct_object
    copy_object_members = construction.copy_object_members
    forget_members = construction.forget_members
    make_instance = construction.make_instance
    run_constructor = construction.run_constructor
    # initializers
    construct_value = initializers.construct_value
    make_default = initializers.make_default
    evaluate_initializer = initializers.evaluate_initializer
    # conversions
    convert_to_kind = conversions.convert_to_kind
    convert_object_to_integer = conversions.convert_object_to_integer
    make_part_object = conversions.make_part_object
    make_name_pointer = conversions.make_name_pointer
    evaluate_shared_address = conversions.evaluate_shared_address
    slice_to_base = conversions.slice_to_base
    # name_resolution
    make_pack_scopes = name_resolution.make_pack_scopes
    resolve_name = name_resolution.resolve_name
    evaluate_template_argument = name_resolution.evaluate_template_argument
    evaluate_template_arguments = name_resolution.evaluate_template_arguments
    # later_members
    evaluate_later_member = later_members.evaluate_later_member
    # type_resolution
    find_builtin_type = type_resolution.find_builtin_type
    get_value_type = type_resolution.get_value_type
    resolve_type = type_resolution.resolve_type
    # instances
    apply_template = instances.apply_template
    make_template_argument_value = instances.make_template_argument_value
    # call_evaluation
    call_function = call_evaluation.call_function
    evaluate_call = call_evaluation.evaluate_call
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
    # parameters
    bind_parameters = parameters.bind_parameters
    make_this_scope = parameters.make_this_scope
    upcast_object = parameters.upcast_object
    # side_effects
    forget_call = side_effects.forget_call
    # operator_calls
    evaluate_operator = operator_calls.evaluate_operator
    # python_calls
    get_item = python_calls.get_item
    # operations
    convert_object_to_number = operations.convert_object_to_number
    apply_operator = operations.apply_operator
    # places
    load_place = places.load_place
    find_place = places.find_place
    # pointers
    decay_array = pointers.decay_array
    evaluate_dereference = pointers.evaluate_dereference
    store_memory = pointers.store_memory
    find_target_place = pointers.find_target_place
    # members
    find_member = members.find_member
    list_part_items = members.list_part_items
    # storing
    copy_assigned = storing.copy_assigned
    store_value = storing.store_value
    make_symbolic_value = storing.make_symbolic_value
    # expressions
    evaluate_for_effect = expressions.evaluate_for_effect
    enter_function = call_frames.enter_function
    make_key = expressions.make_key
    leave_function = call_frames.leave_function
    evaluate_name = expressions.evaluate_name
    spend_step = expressions.spend_step
    evaluate_expression = expressions.evaluate_expression
    # lifetimes
    assign_into = lifetimes.assign_into
    copy_construct = lifetimes.copy_construct
    destroy_object = lifetimes.destroy_object
    destroy_variables = lifetimes.destroy_variables
    note_library_objects = lifetimes.note_library_objects
    run_perhaps = lifetimes.run_perhaps
    evaluate_full_expression = lifetimes.evaluate_full_expression
    # asm_statements
    give_earlier_value = asm_statements.give_earlier_value
    is_changed_before_entry = asm_statements.is_changed_before_entry
    # execution
    make_array = execution.make_array
    run_entry = execution.run_entry
    execute_statement = execution.execute_statement
    finish_function = execution.finish_function
    leave_block = execution.leave_block
    run_body = execution.run_body
    # definitions
    define = definitions.define
    # declarations
    make_place_argument = declarations.make_place_argument
    # branches
    join_breaks = branches.join_breaks
    decide_condition = branches.decide_condition
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
