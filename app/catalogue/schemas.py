"""Answers about topics: pages that explain something."""

from __future__ import annotations

from pydantic import Field

from app.kit.schemas import Closed, Row


class Topic(Closed):
    """One page."""

    page: str = Field(description="Its address.")
    title: str
    summary: str = Field(description="The sentence that says what it answers.")


class Topics(Closed):
    """The topics that a text asks for, what it names first."""

    count: int
    topics: list[Topic]


class Summary(Row):
    """One row of the catalogue."""

    operands: list[str] = Field(description="Names for /instructions/{ptx}/operands/{name}.")


class Listing(Closed):
    """The catalogue, narrowed by the filters."""

    count: int
    instructions: list[Summary]
