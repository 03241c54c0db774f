"""What is refused or told at the edge of a list: steps without a descriptor, memory without bytes, one lost index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from lanescope.capture import fitted, locate
from lanescope.capture.order import Slice
from lanescope.descriptor.matrix import Descriptor
from lanescope.product.planning import plan
from lanescope.ptx import catalog
from lanescope.tiles.chained import chained
from lanescope.triton.parameters import Read
from tests.calls import Call

WGMMA = "wgmma.mma_async.m64n64k16.f32.f16.f16"


def of_edges() -> Iterator[Call]:
    for text in ("kind=rows,pitch_bytes=128,swizzle=128B,k=64", "kind=rows,pitch_bytes=128,k=64,descriptor=0x40"):
        made = plan(catalog.find(WGMMA), a=text, b="swizzle=128B,k=64")
        for step in (-1, 0, 3, 4):
            yield f"{text} step {step}", lambda made=made, step=step: str(made.a.right(step))
    for size in (0, 1, 16):
        image = locate.Image(np.zeros(size, np.uint8), 1024)
        yield f"{size} bytes", partial(locate.search, image, np.ones((8, 8), np.uint64), 16, Descriptor(64))
    for lost in ("5", "5 6", "5 7", "all but 0", "k 5", "k 5 6", "k 5 7", "one", "two"):
        yield f"lost {lost}", partial(incomplete, lost)
    yield "values twice", lambda: chained(*twice()).order
    for rank in (1, 2):
        yield f"bases of {rank}", partial(Read("x", {"b": [[1, 2, 3]]}).bases, "b", rank)


def incomplete(lost: str) -> str:
    """What is said of a slice of which some elements are not in memory."""
    held = np.ones((64, 16), bool)
    rows = np.array([int(n) for n in lost.split() if n.isdigit()])
    if lost in ("one", "two"):
        held[3, 4] = held[7, 8] = False
        held[7, 8] = lost == "one"
    elif lost.startswith("all"):
        held[1:] = False
    elif lost.startswith("k"):
        held[:, rows] = False
    else:
        held[rows] = False
    memory = SimpleNamespace(base=1024, end=2048)
    side: Any = SimpleNamespace(memory=memory, seen=0, word=0, operand="a", rows=64, depth=16)
    with mock.patch.multiple(
        fitted, _held_of=lambda *_: held, _whole_slice=lambda *_: (None, False), _beyond=lambda _: ()
    ):
        return fitted.diagnosed(side, Slice(8, 16, ""), None)[0].message


def twice() -> Any:
    """C of one product and A of another that hold every element of a row twice in each thread: equal ones in order."""
    values = np.arange(128) * 37 % 128 // 2
    of = SimpleNamespace(
        rows=np.arange(32)[:, None] + np.zeros_like(values), cols=values + np.zeros((32, 1), int), row_count=32,
        col_count=64, thread_ids=np.arange(32), values=128, shared=False, copies=1,
    )  # fmt: skip
    turned = SimpleNamespace(**{**vars(of), "cols": of.cols[:, ::-1]})
    tiled = {"in_registers": lambda _: None, "atoms": (1, 1, 1)}
    return SimpleNamespace(c=of, **tiled), SimpleNamespace(a=turned, **tiled)
