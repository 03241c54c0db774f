"""A kernel with its launch: the entry, its limits, the buffers in memory, and the bytes of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.launching.arguments import ArgumentValues
from lanescope.emulate.launching.elements import (
    ElementType,
    compute_array_shape,
    fill_codes,
    fill_elements,
    find_type_of,
    view_elements,
)
from lanescope.emulate.launching.launch import BufferSpec, Launch
from lanescope.emulate.launching.linking import Program
from lanescope.emulate.machine import Machine, Schedule
from lanescope.emulate.state.memory import Allocation, Memory
from lanescope.emulate.state.tensor_maps import REFUSALS, encode_tensor_map, make_tensor_map
from lanescope.emulate.text.program import Function, Module
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, quote_value
from lanescope.ptx.architectures import get_architecture
from lanescope.ptx.targets import TARGETS

Array = NDArray[Any]
MOST_STEPS = 50_000_000
MOST_MEMORY = 4 << 30  # bytes of all buffers
MOST_SHOWN = 8
Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer: the array of its initial contents, and its element type."""

    spec: BufferSpec
    row: ElementType
    array: Array


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry and its launch, checked against each other, ready to be placed in memory and run."""

    module: Module
    entry: Function
    launch: Launch
    cluster: Place
    buffers: Mapping[str, Buffer]

    @property
    def cluster_count(self) -> int:
        return prod(g // c for g, c in zip(self.launch.grid, self.cluster, strict=True))

    def place(self, schedule: Schedule = Schedule(), most_steps: int = MOST_STEPS) -> Placement:
        """Return a placement in a new memory: buffers, maps, parameters.

        LayoutError for an argument that does not fit.
        """
        program, memory = Program(self.module), Memory()
        buffers = {
            name: memory.allocate(name, np.frombuffer(bytearray(buffer.array.tobytes()), np.uint8))
            for name, buffer in self.buffers.items()
        }
        maps = {name: self._encode_map(name, buffers) for name in self.launch.maps}
        placed = {name: memory.allocate(name, np.frombuffer(raw, np.uint8)) for name, raw in maps.items()}
        program.place_variables(memory)
        values = ArgumentValues(buffers, maps, placed)
        offsets, size = _place_parameters(self.entry)
        raw = np.zeros(max(size, 16), np.uint8)
        for number, (parameter, value) in enumerate(zip(self.entry.parameters, self.launch.args, strict=True)):
            encoded = values.encode(value, parameter, f"args[{number}]")
            raw[offsets[number] : offsets[number] + parameter.size] = np.frombuffer(encoded, np.uint8)
        parameters = memory.allocate("the parameters", raw, read_only=True)
        launch = self.launch
        machine = Machine(
            program,
            self.entry,
            memory,
            parameters.base,
            grid=launch.grid,
            block=launch.block,
            cluster=self.cluster,
            dynamic_shared=launch.shared,
            schedule=schedule,
            most_steps=most_steps,
        )
        return Placement(self, machine, buffers)

    def _encode_map(self, name: str, buffers: Mapping[str, Allocation]) -> bytes:
        spec = self.launch.maps[name]
        try:
            return encode_tensor_map(
                make_tensor_map(
                    address=buffers[spec.buffer].base,
                    type=spec.type.strip() or self.buffers[spec.buffer].row.name,
                    dims=spec.dims,
                    strides=spec.strides,
                    box=spec.box,
                    element_strides=spec.element_strides,
                    interleave=spec.interleave,
                    swizzle=spec.swizzle,
                    fill=spec.fill,
                    pixel_box=spec.pixel_box,
                )
            )
        except LayoutError as error:
            field = f"tensor_map.{name}.{error.field or 'type'}"
            if error.hint not in REFUSALS:  # not a valid tensor map
                raise LayoutError("bad_launch", f"{field}: {error.message}", error.hint, field) from None
            raise error.move_to_field(field) from None


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel in a memory, with the machine that runs it. buffers: their addresses."""

    kernel: Kernel
    machine: Machine
    buffers: Mapping[str, Allocation]

    def take_array(self, name: str) -> Array:
        """Return a copy of a buffer's current contents."""
        before = self.kernel.buffers[name].array
        return self.buffers[name].data.view(before.dtype).reshape(before.shape).copy()


def prepare_kernel(module: Module, launch: Launch, arrays: Mapping[str, Array] | None = None) -> Kernel:
    """Return the kernel of a launch; LayoutError if they do not fit.

    arrays: contents of the launch's buffers from files, by name, in the dtypes of elements.py.
    """
    passed_arrays = dict(arrays or {})
    unknown = next((name for name in passed_arrays if name not in launch.buffers), "")
    if unknown:
        raise LayoutError(
            "bad_launch", f"No buffer '{unknown}' is in the launch.", f"It has {_list(launch.buffers)}.", "buffers"
        )
    entry = find_entry(module, launch.kernel)
    cluster = _check_limits(entry, launch)
    _check_target(module, entry, launch, cluster)
    count = len(entry.parameters)
    if len(launch.args) != count:
        names = ", ".join(f".{parameter.type} {parameter.name}" for parameter in entry.parameters[:MOST_SHOWN])
        raise LayoutError(
            "bad_launch",
            f"args has {format_count(len(launch.args), 'value')}; {entry.name} has {format_count(count, 'parameter')}.",
            f"Its parameters are {names}{', …' if count > MOST_SHOWN else ''}." if count else "Give args = [].",
            "args",
        )
    buffers = {name: _make_buffer(spec, passed_arrays.get(name)) for name, spec in launch.buffers.items()}
    total = sum(buffer.array.nbytes for buffer in buffers.values())
    if total > MOST_MEMORY:
        raise LayoutError(
            "too_large", f"The buffers have {total:,} bytes.", f"At most {MOST_MEMORY:,} together.", "buffer"
        )
    return Kernel(module, entry, launch, cluster, buffers)


def find_entry(module: Module, part: str) -> Function:
    """Return the entry with this name, or with this part in its name; LayoutError lists the entries."""
    entries = module.entries
    matches = [entry for entry in entries if entry.name == part] or [entry for entry in entries if part in entry.name]
    if len(matches) == 1:
        return matches[0]
    if not entries:
        raise LayoutError("no_kernel", "The PTX has no .entry.", "Give the PTX of a __global__ function.", "ptx")
    names = _list(entry.name for entry in (matches or entries))
    what = f"kernel is {quote_value(part)}, which" if part else "The PTX"
    if matches:
        message = f"{what} {'matches' if part else 'has'} {len(matches)} entries."
    else:
        message = f"{what} is not in an entry's name."
    raise LayoutError("no_kernel", message, f"Give kernel as a part of one of: {names}.", "kernel")


def _list(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:MOST_SHOWN]) + (", …" if len(every) > MOST_SHOWN else "") if every else "none"


def _pad(extents: tuple[int, ...]) -> Place:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _check_limits(entry: Function, launch: Launch) -> Place:
    """Return the cluster shape; LayoutError if the launch contradicts the kernel's directives."""
    limits, block = entry.limits, launch.block
    if "reqntid" in limits and _pad(limits["reqntid"]) != block:
        need = list(_pad(limits["reqntid"]))
        raise LayoutError(
            "bad_launch", f"block is {list(block)}.", f"{entry.name} has .reqntid: block = {need}.", "block"
        )
    if "maxntid" in limits and prod(block) > prod(limits["maxntid"]):
        raise LayoutError(
            "bad_launch",
            f"block is {list(block)}, {prod(block)} threads.",
            f"{entry.name} has .maxntid: at most {prod(limits['maxntid'])} threads.",
            "block",
        )
    if "blocksareclusters" in limits:
        raise LayoutError("unknown_directive", f"{entry.name} has .blocksareclusters.", "It is not emulated.", "kernel")
    need_cluster = _pad(limits["reqnctapercluster"]) if limits.get("reqnctapercluster") else None
    cluster = launch.cluster or need_cluster or (1, 1, 1)
    if need_cluster and cluster != need_cluster:
        raise LayoutError(
            "bad_launch",
            f"cluster is {list(cluster)}.",
            f"{entry.name} has .reqnctapercluster: cluster = {list(need_cluster)}.",
            "cluster",
        )
    if "maxclusterrank" in limits and prod(cluster) > limits["maxclusterrank"][0]:
        raise LayoutError(
            "bad_launch",
            f"cluster is {list(cluster)}, {prod(cluster)} blocks.",
            f"{entry.name} has .maxclusterrank: at most {limits['maxclusterrank'][0]}.",
            "cluster",
        )
    if any(g % c for g, c in zip(launch.grid, cluster, strict=True)):
        raise LayoutError(
            "bad_launch",
            f"grid is {list(launch.grid)} and cluster {list(cluster)}.",
            "The grid is a multiple of the cluster along every axis.",
            "grid",
        )
    return cluster


def _check_target(module: Module, entry: Function, launch: Launch, cluster: Place) -> None:
    """Raise LayoutError if shared memory or cluster exceed the target's limits; unknown targets have none."""
    if module.target not in TARGETS:
        return
    architecture = get_architecture(module.target)
    most = architecture.block_shared_memory or architecture.sm_shared_memory
    static = Program(module).static_bytes
    if static + launch.shared > most:
        raise LayoutError(
            "bad_launch",
            f"shared is {launch.shared:,} bytes" + (f", with {static:,} that the kernel declares." if static else "."),
            f"A block on {module.target} has at most {most:,} bytes of shared memory.",
            "shared",
        )
    if prod(cluster) > architecture.cluster:
        raise LayoutError(
            "bad_launch",
            f"cluster is {list(cluster)}, {prod(cluster)} blocks.",
            f"{module.target} has "
            + ("no clusters." if architecture.cluster == 1 else f"clusters of at most {architecture.cluster} blocks."),
            "cluster",
        )


def _make_buffer(spec: BufferSpec, array: Array | None) -> Buffer:
    field = f"buffer.{spec.name}"
    if array is None:
        if not spec.shape or spec.type is None:
            raise LayoutError(
                "bad_launch",
                f"{field} has neither an array nor a shape.",
                f"Give its file '{spec.file}'." if spec.file else "Give file, or shape and type.",
                field,
            )
        if spec.file:
            raise LayoutError("bad_launch", f"{field} lacks the array of '{spec.file}'.", "Give the file.", field)
        if spec.fill == "identify":
            codes = fill_codes(spec.shape, spec.type, spec.operand, spec.major == "k", spec.part, f"{field}.fill")
        else:
            codes = fill_elements(spec.name, spec.fill, spec.shape, spec.type, field, spec.number)
        return Buffer(spec, spec.type, codes)
    row = spec.type or find_type_of(array.dtype)
    if row is None:
        raise LayoutError(
            "bad_buffer",
            f"The array of {field} holds {array.dtype}.",
            'Give type, as in type = "f32".',
            f"{field}.type",
        )
    elements = view_elements(array, row, field)
    if spec.shape and compute_array_shape(spec.shape, row, f"{field}.shape") != elements.shape:
        raise LayoutError(
            "bad_buffer",
            f"{field}.shape is {list(spec.shape)}; its array has {list(elements.shape)}.",
            "Leave shape out, or give the array's.",
            f"{field}.shape",
        )
    return Buffer(spec, row, elements)


def _place_parameters(entry: Function) -> tuple[list[int], int]:
    """Return (offset of each parameter, bytes of all)."""
    offsets, at = [], 0
    for parameter in entry.parameters:
        align = max(1, parameter.align)
        at = -(-at // align) * align
        offsets.append(at)
        at += parameter.size
    return offsets, at
