"""Split the uses of descriptors by the launch of the kernel that they run in.

`workbench_builder.py` calls it for the uses of one instruction: launches and instances of a template may have other
tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.workbench.copies.box_loads import Launch
from lanescope.workbench.copies.loads import TextLoads
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.reads.stores import TileStore


def split_by_launch(
    uses: Sequence[DescriptorUse], loads: TextLoads, stores: Sequence[TileStore]
) -> list[list[DescriptorUse]]:
    """Split the uses by launch; launches that read the same places, which copies of equal boxes fill, stay together."""
    of_launch: dict[Launch, list[DescriptorUse]] = {}
    for use in uses:
        of_launch.setdefault(loads.find_launch(use.site), []).append(use)
    if len(of_launch) < 2:
        return [list(uses)]
    alike: dict[object, list[DescriptorUse]] = {}
    for launch, members in of_launch.items():
        reads = {(name, str(argument.address)) for use in members for name, argument in use.arguments.items()}
        copies = {(str(load.to), _list_boxes(load.maps, stores)) for load in loads.list_of_launch(launch).all}
        alike.setdefault((frozenset(reads), frozenset(copies)), []).extend(members)
    return list(alike.values())


def _list_boxes(names: frozenset[str], stores: Sequence[TileStore]) -> frozenset[object]:
    """Return the boxes of the tensor maps with these names."""
    maps = (store.map for store in stores if store.map is not None and store.has_name_in(names))
    return frozenset((one.box, one.element_bits, one.swizzle) for one in maps)
