"""Find the tensor map of a traced copy by the names that the evaluation of the text gives the map of a copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lanescope.reader.code.findings import AsmRun, BodilessCall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import count_box_bytes, list_argument_names, list_names, read_copy
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelText, is_bulk_store
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.text.asm_operands import join_strings

_STORE = re.compile(r"\.global[\w.:]*\s+\[\s*(%\w+|%\[\w+\])\s*,")


@dataclass(frozen=True)
class MapFinder:
    """Finds the maps of a text by names, for one of its kernels. sizes: of the matrices, if they are known."""

    text: KernelText
    sizes: KnownSizes | None = None

    def find(
        self, kernel: str, names: frozenset[str], rank: int = 0, launched: frozenset[str] = frozenset()
    ) -> TensorMap | None:
        """Return the map that a kernel calls by one of these names; None if there are several different ones. rank: the
        coordinates of the copy, 0 if any; launches of a template may give it maps of several ranks. launched: the names
        of the maps of one launch, none if they are not known.
        """
        found = self._find(kernel, names, rank, launched)
        if found is None or self.sizes is None:
            return found
        if id(found) not in self._measured:
            self._measured[id(found)] = self.sizes.measure_map(found)
        return self._measured[id(found)]

    @cached_property
    def _measured(self) -> dict[int, TensorMap]:
        return {}

    def _find(self, kernel: str, names: frozenset[str], rank: int, launched: frozenset[str]) -> TensorMap | None:
        known = self._list_known(kernel, names, launched) or self._list_known(kernel, names)
        known = [one for one in known if len(one.box) == rank] or known
        kinds = {(one.box, one.element_bits, one.swizzle) for one in known}
        return known[0] if len(kinds) == 1 else None

    def _list_known(
        self, kernel: str, names: frozenset[str], launched: frozenset[str] = frozenset()
    ) -> list[TensorMap]:
        """List the maps that the launches of a kernel, or one of them, give it under all of these names: p and a are
        p.a, not p.b. If only some are known, as of a choice among members, any map of the text may be meant.
        """
        aliases = [(own, of) for own, of in self._aliases.get(kernel, ()) if not launched or own & launched]
        known = [of for own, of in aliases if names <= own]
        if known:
            return known
        if any(names & own for own, _ in aliases):
            return list(self.text.maps)
        named = find_named_map(names, self.text.maps)
        return [named] if named is not None else []

    def list_bytes(self, kernel: str, names: frozenset[str]) -> frozenset[int]:
        """Return the bytes that a box of a map may have, by the launches of a kernel; none if they are not known."""
        found = {_count_bytes(one) for one in self._list_known(kernel, names)}
        return frozenset() if 0 in found else frozenset(found)

    @cached_property
    def _aliases(self) -> dict[str, list[tuple[frozenset[str], TensorMap]]]:
        found: dict[str, list[tuple[frozenset[str], TensorMap]]] = {}
        chains = {tuple(name for name, _ in run.calls) for run in self.text.runs}
        for run in self.text.runs:
            own = tuple(name for name, _ in run.calls)
            if any(len(chain) > len(own) and chain[-len(own) :] == own for chain in chains):
                continue  # its launcher is run with the arguments of its callers, too
            for event in run.events:
                names = self._list_names(event) if event.kind == "bulk" else frozenset()
                tensor_map = find_named_map(names, self.text.maps) if names else None
                if tensor_map is not None:
                    words = (word for name in names for word in name.split("."))
                    found.setdefault(run.name, []).append((names.union(words), tensor_map))
        return found

    def _list_names(self, event: KernelEvent) -> frozenset[str]:
        if not is_bulk_store(event):
            copy = read_copy(event, self.text.blank)
            return copy.maps if copy is not None else frozenset()
        run = event.run
        if isinstance(run, AsmRun) and (match := _STORE.search(join_strings(run.text))):
            return list_names(run, match[1])
        if isinstance(run, BodilessCall) and run.term.arguments:
            return list_argument_names(run, run.term.arguments[0], 0, self.text.blank)
        return frozenset()


def _count_bytes(tensor_map: TensorMap) -> int:
    """Return the bytes of a box in shared memory, 0 if they are not known: some types are padded there."""
    packed = tensor_map.element_bits in (8, 16, 32, 64) or tensor_map.data_type == "16U4_ALIGN8B"
    return count_box_bytes(tensor_map) if packed else 0
