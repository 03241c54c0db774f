"""A module whose variables and functions have been assigned addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.descriptor.matrix import SHARED_BEGIN
from lanescope.emulate.code import Code
from lanescope.emulate.state.memory import GLOBAL_WINDOW, Allocation, Memory
from lanescope.emulate.text.program import Module

FUNCTION_BASE = GLOBAL_WINDOW + (1 << 39)  # addresses of functions; they hold no data


class Program:
    """A module with the addresses of its variables."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.codes: dict[str, Code] = {}
        self.addresses: dict[str, int] = {}
        self.shared_offsets, self.static_bytes, self._dynamic_align = self._place_shared()
        self.functions = {name: FUNCTION_BASE + 16 * n for n, name in enumerate(module.functions)}

    def _place_shared(self) -> tuple[dict[str, int], int, int]:
        """Return shared variables' addresses in the window; open ones (extern … []) start after the others."""
        offsets, at, align = {}, SHARED_BEGIN, 16
        shared = [v for v in self.module.variables.values() if v.space == "shared"]
        for variable in (v for v in shared if v.size):
            at = -(-at // max(1, variable.align)) * max(1, variable.align)
            offsets[variable.name] = at
            at += variable.size
        align = max([align, *(v.align for v in shared if not v.size)])
        dynamic = -(-at // align) * align
        offsets |= {v.name: dynamic for v in shared if not v.size}
        return offsets, dynamic - SHARED_BEGIN, align

    def get_code(self, name: str) -> Code:
        if name not in self.codes:
            self.codes[name] = Code(self, self.module.functions[name])
        return self.codes[name]

    def find_address(self, name: str) -> int | None:
        """Return the generic address of a variable in global or constant memory, or of a function."""
        return self.addresses.get(name, self.functions.get(name))

    def find_function(self, address: int) -> str:
        """Return the name of the function at an address, "" if there is none."""
        return next((name for name, function_address in self.functions.items() if function_address == address), "")

    def place_variables(self, memory: Memory) -> None:
        """Allocate the variables of global and constant memory, with their initial values."""
        variables = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        placed: list[tuple[Allocation, Any]] = []
        for variable in variables:
            data = np.zeros(max(variable.size, len(variable.initial)), np.uint8)
            data[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
            allocation = memory.allocate(variable.name, data, read_only=variable.space == "const")
            self.addresses[variable.name] = allocation.base
            placed.append((allocation, variable))
        for allocation, variable in placed:
            for offset, symbol in variable.links:
                address = (self.find_address(symbol.name) or 0) + symbol.offset
                allocation.data[offset : offset + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)
