"""pydantic models that document requests. They never run on a request."""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from lanescope.app.kit.enumerations import Number, NumberText, PtxText
from lanescope.app.kit.memory_words import CuteText
from lanescope.app.kit.question import Option, options_of

__all__ = ["ClosedModel", "CuteText", "Number", "NumberText", "PtxText", "build_model"]


class ClosedModel(BaseModel):
    """An object without undeclared keys. Its schema is built with the document, not as the server starts."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


@cache
def build_model(question: type) -> type[BaseModel]:
    """Return the model of a question as a request body, named as its class."""
    fields: dict[str, Any] = {name: _build_field(option) for name, option in options_of(question).items()}
    return create_model(question.__name__, __base__=ClosedModel, __doc__=question.__doc__, **fields)


def _build_field(option: Option) -> Any:
    says: dict[str, Any] = {"description": option.help or None, "examples": list(option.examples) or None}
    if option.derived and option.default == {} and not option.required:  # no default
        return Annotated[_select_type(option, None), Field(default_factory=lambda: None, **says)]
    default = ... if option.required else _get_default(option)
    return Annotated[_select_type(option, default), Field(default=default, **says)], default


def _select_type(option: Option, default: Any) -> Any:
    """Return the type of a field: its own, or a number, switch, word or text."""
    if option.type is not None:
        return option.type
    if option.numeric:
        return Number | None if default is None else Number
    if option.flag:
        return Number | bool
    return Literal[option.words] if option.words else str


def _get_default(option: Option) -> Any:
    """Return the default of a field as JSON has it."""
    if option.parts:
        return build_model(option.parts[0])() if option.default == {} else None
    if option.numeric or option.flag:
        return int(option.default, 0) if option.default else None
    if option.default == "" and NoneType in get_args(option.type):
        return None
    return option.default
