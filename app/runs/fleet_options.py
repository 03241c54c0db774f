"""The options of a fleet, declared once: a command that uses one has a parameter `contact`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanescope.app.kit.settings import check_tls_files, list_settings, name_variable, parse_scheduler as address_of
from lanescope.app.kit.terminal import Verb, make_option, take_options

if TYPE_CHECKING:
    from lanescope.app.hardware.connection import TlsFiles
    from lanescope.app.hardware.fleet import Fleet

NAMES = ("tls_ca", "tls_cert", "tls_key")
_SAYS = {name: says for name, _, says in list_settings()} | {
    "scheduler": "The fleet's scheduler: tcp://host:8786 or tls://host:8786."
}


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
    options = {name: make_option(_SAYS[name], envvar=name_variable(name)) for name in names or ("scheduler", *NAMES)}
    return take_options("contact", options, _make_contact)


def _make_contact(where: dict[str, Any]) -> FleetContact:
    return FleetContact(where.get("scheduler", ""), tuple(where[name] for name in NAMES))


@contextmanager
def open_fleet(contact: FleetContact) -> Iterator[Fleet]:
    """Open a fleet for the duration of a command."""
    from lanescope.app.hardware.fleet import Fleet

    found = Fleet(contact.check().scheduler, contact.tls)
    try:
        yield found
    finally:
        found.close()
