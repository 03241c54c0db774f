"""Facts: frozen dataclasses that pages, JSON, the command line and the OpenAPI document share.

A fact's annotations document it: `Description` describes a field, `IntegerArray` and `RealArray` an array. pydantic
reads them when the document is made; nothing here imports it, so that commands start without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, dataclass_transform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.integer[Any]]  # integers; NumPy is imported only where arrays are made
else:
    Numbers = Any

Made = TypeVar("Made")
Json = dict[str, Any]
LARGEST = (1 << 64) - 1  # largest integer that the document allows


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def fact(cls: type[Made]) -> type[Made]:
    """Make a frozen dataclass. A trailing `_` is not part of a field's name in JSON: `from_` is "from"."""
    fact_class = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    fact_class.__pydantic_config__ = {"extra": "forbid"}  # type: ignore[attr-defined]
    fact_class.__get_pydantic_json_schema__ = classmethod(_build_schema)  # type: ignore[attr-defined]
    return fact_class


def _build_schema(cls: type, core: Any, handler: Any) -> Json:
    """Return the JSON schema of a fact with its fields as JSON names them; fields that may be left out are not
    required.
    """
    schema = handler.resolve_ref_schema(handler(core))
    schema["properties"] = {name.rstrip("_"): kind for name, kind in schema.get("properties", {}).items()}
    schema["required"] = [
        field.name.rstrip("_")
        for field in dataclasses.fields(cls)
        if not (_is_optional(field) or "spread" in field.metadata)
    ]
    for field in dataclasses.fields(cls):
        if "spread" in field.metadata:
            array = IntegerArray(2, "[thread][value]").__get_pydantic_json_schema__(None, None)
            del schema["properties"][field.name]
            schema["properties"] |= dict.fromkeys(field.metadata["spread"](), array)
        if _is_optional(field):
            schema["properties"][field.name.rstrip("_")] = _build_omittable_schema(
                schema["properties"][field.name.rstrip("_")]
            )
    return dict(schema)


def _build_omittable_schema(kind: Json) -> Json:
    """Return the schema of a field that is left out when it is None: it is never null."""
    kinds = [schema for schema in kind.get("anyOf", ()) if schema != {"type": "null"}]
    rest = {name: value for name, value in kind.items() if name not in ("default", "anyOf")}
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, **({"anyOf": kinds} if kinds else {})}


def make_optional_field() -> Any:
    """Declare a field that is left out of the answer when it is None."""
    return dataclasses.field(default=None, metadata={"sometimes": True})


def make_spread_field(names: Callable[[], Iterable[str]]) -> Any:
    """Declare a mapping whose entries become fields of the answer. names: returns the possible ones, each
    [thread][value].
    """
    return dataclasses.field(default_factory=dict, metadata={"spread": names})


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return bool(field.metadata.get("sometimes"))


def fact_to_json(value: Any) -> Json:
    """Convert a fact to JSON, one level deep; TypeError for another value.

    >>> @fact
    ... class Move: from_: int; note: str | None = make_optional_field()
    >>> fact_to_json(Move(from_=1)), fact_to_json(Move(from_=1, note="x"))
    ({'from': 1}, {'from': 1, 'note': 'x'})
    """
    names, read, optional, inside = _get_json_fields(type(value))  # type: ignore[arg-type]  # a class has a hash
    found = dict(zip(names, read(value), strict=True))
    for name in optional:
        if found[name] is None:
            del found[name]
    if not inside:
        return found
    opened = (entry.items() if name in inside else ((name, entry),) for name, entry in found.items())
    return {name: entry for part in opened for name, entry in part}


@cache
def _get_json_fields(
    cls: type,
) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[str, ...], tuple[str, ...]]:
    """Return, once per class: the JSON names, a reader of their values, the optional names, and the spread fields."""
    fields = dataclasses.fields(cls)
    read = attrgetter(*(field.name for field in fields))
    names = tuple(field.name.rstrip("_") for field in fields)
    is_single = len(fields) == 1
    return (
        names,
        (lambda value: (read(value),)) if is_single else read,
        tuple(field.name.rstrip("_") for field in fields if _is_optional(field)),
        tuple(field.name for field in fields if "spread" in field.metadata),
    )


def copy_fact(cls: type[Made], source: Any, /, **more: Any) -> Made:
    """Return a fact whose fields are the attributes of a source with the same names, and more.

    >>> @fact
    ... class Point: x: int
    >>> @fact
    ... class Place(Point): y: int
    >>> copy_fact(Place, Point(x=1), y=2)
    Place(x=1, y=2)
    """
    names = (field.name for field in dataclasses.fields(cls) if field.name not in more)  # type: ignore[arg-type]
    return cls(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **more)


@dataclass(frozen=True, eq=False)  # identity hash, so that a union of types can hold it: dicts are not hashable
class Description:
    """A field's description in the document, with examples, or with limits in JSON Schema's terms."""

    text: str = ""
    examples: tuple[Any, ...] = ()
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Json:
        schema: Json = {"description": self.text} if self.text else {}
        if self.examples:
            schema["examples"] = list(self.examples)
        return {**handler(core), **schema, **self.limits}


@dataclass(frozen=True)
class IntegerArray:
    """An array of integers, as NumPy array or list: its number of axes, and their meaning."""

    axes: int
    text: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Json:
        return {"type": "any"}

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Json:
        schema = _build_nested_schema({"type": "integer"}, self.axes)
        return schema | ({"description": self.text} if self.text else {})


ByThread: TypeAlias = Annotated[Numbers, IntegerArray(2, "[thread][value]")]


@dataclass(frozen=True)
class RequestModel:
    """A value with the same schema as a request's model."""

    model: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Json:
        return dict(handler.generate_schema(self.model))


@dataclass(frozen=True)
class RealArray:
    """An array of numbers, of one of several ranks; NaN and infinity are null."""

    axes: tuple[int, ...]
    text: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Json:
        return {"type": "any"}

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Json:
        forms = [_build_nested_schema({"anyOf": [{"type": "number"}, {"type": "null"}]}, axes) for axes in self.axes]
        schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
        return schema | ({"description": self.text} if self.text else {})


def _build_nested_schema(schema: Json, axes: int) -> Json:
    """Return the schema of lists nested `axes` deep."""
    for _ in range(axes):
        schema = {"type": "array", "items": schema}
    return schema


@dataclass(frozen=True)
class TaggedUnion:
    """A union of facts that one field distinguishes by a constant word.

    words: these words in the order of the facts; read from the schemas if left out.
    """

    field: str
    words: tuple[str, ...] = ()

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Json:
        facts = handler(core)["anyOf"]
        words = self.words or [handler.resolve_ref_schema(made)["properties"][self.field]["const"] for made in facts]
        mapping = {word: made["$ref"] for word, made in zip(words, facts, strict=True)}
        return {"oneOf": facts, "discriminator": {"propertyName": self.field, "mapping": mapping}}
