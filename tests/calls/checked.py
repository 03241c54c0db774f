"""What the workbench and `lanescope check` answer to texts near a right one, and at their bounds."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial

from lanescope.errors import LayoutError
from lanescope.workbench import bench, check
from tests.benches import BOTH, CASES, with_
from tests.calls import Call
from tests.calls.reader import near
from tests.held import refusal, whole

EDITS = 2  # of a text
SIZES = re.compile(r"m64n64k16")


def answered(text: str) -> str:
    """What both say of a text."""
    try:
        made = whole(bench(text))
    except LayoutError as error:
        made = refusal(error)
    try:
        told = check.check(text)
    except LayoutError as error:
        return f"{made}\n{refusal(error)}"
    return f"{made}\n{whole(told)} {[one.level for one in (*told.findings, *told.doubts)]}"


def near_text(text: str, seed: str) -> str:
    return "\n".join(answered(one) for one in near(text, random.Random(seed), EDITS))


def of_near_benches() -> Iterator[Call]:
    for n in range(8):
        yield f"both {n}", partial(near_text, BOTH, f"both {n}")
    (lost,) = (case.text.replace("{%0}", "%0}") for case in CASES if case.title == "SBO of 512")  # which is A?
    yield "a brace lost", lambda: [answered(lost), *(whole(bench(lost, {"operand": one})) for one in "ab")]


def of_bounds() -> Iterator[Call]:
    loop = BOTH[BOTH.index("for (") :]
    for many in (8, 9):
        more = "".join(SIZES.sub(f"m64n{8 * n}k16", loop) for n in range(1, many + 1))
        yield f"{many} instructions", partial(answered, BOTH.replace(loop, more))
    yield "tensor memory too", partial(answered, BOTH + "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;")
    for mark in ("tcgen05.mma", "SM100_MMA_F16BF16_SS", "UMMA::Major", "umma::x"):
        yield f"only {mark}", partial(answered, mark)
    for start in ("0x400", "0x3fff0", "0x40000", "-16"):
        yield f"a start of {start}", partial(answered, with_(("sA + k", f"{start} + k")))
    yield "titles", lambda: [f"{code}: {check.title(code)}" for code in (*sorted(check.TITLES), "some_code")]
