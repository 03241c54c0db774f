"""The options of a fleet, declared once: a command that uses one has a parameter `contact`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lanescope.app.kit.settings import check_tls_files, list_settings, name_variable
from lanescope.app.kit.settings import parse_scheduler as address_of

if TYPE_CHECKING:
    from lanescope.app.hardware.connection import TlsFiles
    from lanescope.app.hardware.fleet import Fleet

NAMES = ("tls_ca", "tls_cert", "tls_key")
_SAYS = {name: says for name, _, says in list_settings()}
_FLEETS = "The fleet's scheduler: tcp://host:8786 or tls://host:8786."
Verb = TypeVar("Verb", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class FleetContact:
    """The address of a fleet, and the TLS files: from the command line and LANESCOPE_…."""

    scheduler: str = ""
    files: tuple[str, str, str] = ("", "", "")

    @property
    def is_requested(self) -> bool:
        """Return whether a fleet is requested."""
        return bool(self.scheduler)

    @property
    def tls(self) -> TlsFiles:
        """Return the files for a connection."""
        from lanescope.app.hardware.connection import TlsFiles

        return TlsFiles(*self.files)

    def check(self) -> FleetContact:
        """Return the contact; raise LayoutError for a wrong address, or for TLS files that do not match it."""
        check_tls_files(address_of(self.scheduler), *self.files)
        return self


def add_fleet_options(*names: str) -> Callable[[Verb], Verb]:
    """Replace the parameter `contact` of a command by the options --scheduler, --tls-ca, --tls-cert and --tls-key, or
    by the named ones.
    """
    names = names or ("scheduler", *NAMES)

    def option(name: str) -> inspect.Parameter:
        made = typer.Option(help=_FLEETS if name == "scheduler" else _SAYS[name], envvar=name_variable(name))
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="", annotation=Annotated[str, made])

    def dress(verb: Verb) -> Verb:
        @wraps(verb)
        def run_verb(**value: Any) -> None:
            where = {name: value.pop(name) for name in names}
            contact = FleetContact(where.get("scheduler", ""), tuple(where[name] for name in NAMES))
            verb(**value, contact=contact)

        parameters: list[inspect.Parameter] = []
        for row in inspect.signature(verb, eval_str=True).parameters.values():
            parameters += map(option, names) if row.name == "contact" else [row.replace(kind=row.KEYWORD_ONLY)]
        run_verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_verb.__annotations__ = {}
        return run_verb  # type: ignore[return-value]

    return dress


@contextmanager
def open_fleet(contact: FleetContact) -> Iterator[Fleet]:
    """Open a fleet for the duration of a command."""
    from lanescope.app.hardware.fleet import Fleet

    found = Fleet(contact.check().scheduler, contact.tls)
    try:
        yield found
    finally:
        found.close()
