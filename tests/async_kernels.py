"""PTX kernels written by hand for tests of asynchronous copies, barriers and clusters, and a launch of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.launching.linking import Program
from lanescope.emulate.machine import Machine, Schedule
from lanescope.emulate.state.memory import Memory
from lanescope.emulate.state.tensor_maps import MAP_BYTES, encode_tensor_map, make_tensor_map
from lanescope.emulate.text.parser import parse_module

Array = NDArray[Any]
SCHEDULES = (Schedule(), Schedule(late=True), Schedule(by_warp=True, seed=1), Schedule(by_warp=True, late=True, seed=2))
HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])
{
  .reg .pred %p, %q; .reg .b16 %h; .reg .b32 %tid, %s, %bar, %a<32>; .reg .b64 %in, %out, %map, %d<32>;
  .shared .align 1024 .b8 buf[32768]; .shared .align 8 .b64 bars[4];
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.b64 %map, map; cvta.param.u64 %map, %map;
  mov.u32 %tid, %tid.x; mov.u32 %s, buf; mov.u32 %bar, bars; setp.eq.u32 %p, %tid, 0;
"""
WAIT = "W{n}: mbarrier.try_wait.parity.shared.b64 %q, [%bar+{at}], {parity}; @!%q bra W{n};\n"


def wait(number: int, parity: int = 0, at: int = 0) -> str:
    """A loop of try_wait on the mbarrier at an offset."""
    return WAIT.format(n=number, parity=parity, at=at)


def copy_out(words: int, threads: int = 32) -> str:
    """Store that many 32-bit words of buf to out, for each CTA of a grid along x its own."""
    text = f"mov.u32 %a30, %ctaid.x; mul.wide.u32 %d30, %a30, {4 * words}; add.u64 %d30, %d30, %out;\n"
    text += "shl.b32 %a30, %tid, 2; cvt.u64.u32 %d31, %a30; add.u64 %d30, %d30, %d31; add.u32 %a30, %a30, %s;\n"
    for first in range(0, words, threads):
        text += f"ld.shared.u32 %a31, [%a30+{4 * first}]; st.global.u32 [%d30+{4 * first}], %a31;\n"
    return text


def make_factory(
    body: str,
    data: Array,
    out: Array,
    threads: int = 32,
    *,
    cluster: int = 1,
    make_map: dict[str, Any] | None = None,
    on_output: bool = False,
) -> Callable[[Schedule], Machine]:
    """Return what makes a machine of a body: buffers in and out, and a tensor map over one of them."""
    module = parse_module(HEAD + body + "\nret;\n}\n")

    def make(schedule: Schedule) -> Machine:
        program, memory = Program(module), Memory()
        placed = [
            memory.allocate(name, np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy())
            for name, array in (("in", data), ("out", out))
        ]
        program.place_variables(memory)
        raw = b"".join(one.base.to_bytes(8, "little") for one in placed).ljust(64, b"\0")
        raw += (
            bytes(MAP_BYTES)
            if make_map is None
            else encode_tensor_map(make_tensor_map(address=placed[on_output].base, **make_map))
        )
        parameters = memory.allocate("parameters", np.frombuffer(raw, np.uint8), read_only=True)
        grid, block = (cluster, 1, 1), (threads, 1, 1)
        return Machine(
            program,
            module.entries[0],
            memory,
            parameters.base,
            grid=grid,
            block=block,
            cluster=grid,
            schedule=schedule,
            most_steps=200_000,
        )

    return make


def run(body: str, data: Array, out: Array, threads: int = 32, schedule: Schedule = Schedule(), **more: Any) -> Machine:
    """Run a body once."""
    machine = make_factory(body, data, out, threads, **more)(schedule)
    machine.run()
    return machine


def take(machine: Machine, like: Array, name: str = "out") -> Array:
    """Return what stands in a buffer after a run."""
    found = next(one for one in machine.memory.allocations if one.name == name)
    return found.data.view(like.dtype).reshape(like.shape)


def list_codes(machine: Machine) -> Sequence[str]:
    """Return the codes of the findings."""
    return [one.code for one in machine.findings]
