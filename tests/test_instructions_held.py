"""A page of every kind of instruction, held by checksum: what the pages say is tested elsewhere, here none of it
changes unnoticed.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from lanescope.app.main import create_app
from lanescope.ptx import catalog
from tests import asgi
from tests.held import held
from tests.test_pages_held import steady


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app()


def answers(app: Any, addresses: list[str]) -> list[asgi.Answer]:
    async def all_() -> list[asgi.Answer]:
        return [await asgi.ask(app, "GET", address) for address in addresses]

    return asgi.run(all_())


def lines(app: Any, addresses: list[str]) -> str:
    """Each answer in a line: the checksum of what the page says, its status, where it leads."""
    out = []
    for address, answer in zip(addresses, answers(app, addresses), strict=True):
        main = steady(answer.body.decode().partition("<main")[2])
        out.append(f"{zlib.crc32(main.encode()):08x} {answer.status} {answer.headers.get('location', '')} {address}\n")
    return "".join(out)


def test_every_kind_of_instruction(app: Any) -> None:
    """Every shape of every row and every choice of types, wgmma's at both ends of N; those new in both come first."""
    every = [i for i in catalog.instructions() if not i.family.scope.several or i.sizes["n"] in (8, 256)]
    seen: set[object] = set()
    asked = []
    for new in (2, 1):
        for i in every:
            kinds = {(i.family.ptx, i.shape), (i.syntax.opcode, i.syntax.types)}
            if len(kinds - seen) >= new:
                seen |= kinds
                asked.append(f"/i/{i.ptx}")
    assert len(seen) > 300
    told = lines(app, asked)
    assert all(line.split()[1] == "200" for line in told.splitlines())
    held("instructions", told)
