"""Words about shared memory and layouts as enumerations and text.

Separate from app/kit/enumerations.py because their tables need NumPy, which commands about registers do not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from lanescope.app.kit.enumerations import make_word_enum
from lanescope.app.kit.fact import Description
from lanescope.cute.layout import LONGEST
from lanescope.ptx.table.descriptors import BASE32B, FORMATS
from lanescope.shared.banks import ACCESSES, REACHES
from lanescope.shared.swizzle import NAMES
from lanescope.shared.tiling import DEFAULT_ORDER, SWIZZLED_BY

CuteText = Annotated[str, Description(limits={"maxLength": LONGEST})]

if TYPE_CHECKING:  # type checkers see text: the words come from a table
    SwizzleMode: TypeAlias = str
    Major: TypeAlias = str
    Order: TypeAlias = str
    SwizzledBy: TypeAlias = str
    AccessName: TypeAlias = str
    AccessPattern: TypeAlias = str
    FormatName: TypeAlias = str
else:
    SwizzleMode = make_word_enum("SwizzleMode", (*NAMES, BASE32B.name), "A swizzle mode; the last is tcgen05's alone.")
    Major = make_word_enum("Major", DEFAULT_ORDER, "The dimension of an operand that is contiguous in memory.")
    Order = make_word_enum(
        "Order", DEFAULT_ORDER.values(), "The dimension along which the atoms of a tile are laid first."
    )
    SwizzledBy = make_word_enum(
        "SwizzledBy", SWIZZLED_BY, "What is XORed: the byte address (what TMA does) or the offset from the base."
    )
    AccessName = make_word_enum("AccessName", ACCESSES, "One warp-wide access to shared memory.")
    AccessPattern = make_word_enum("AccessPattern", REACHES, "How the lanes of an access reach rows of shared memory.")
    FormatName = make_word_enum(
        "FormatName", (row.name for row in FORMATS), "A format of matrix descriptors: who reads it."
    )
