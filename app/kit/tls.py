"""Checks of the three TLS files before they are used."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

NAMES = ("tls_ca", "tls_cert", "tls_key")


def _make_error(name: str, path: str, why: str, allowed: str) -> Exception:
    from lanescope.errors import LayoutError
    from lanescope.inputs import shorten_value

    return LayoutError("bad_setting", f"{name} is '{shorten_value(path)}': {why}.", allowed, name)


def check_tls(ca: str, cert: str, key: str) -> None:
    """Raise LayoutError, which names the setting, for a file that cannot be used or does not belong to the others."""
    for name, path in zip(NAMES, (ca, cert, key), strict=True):
        try:
            with Path(path).open("rb") as file:
                file.read(1)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise _make_error(name, path, f"it cannot be read: {why}", "Name a file in PEM format.") from None
    try:
        sides = [_make_context(purpose, ca) for purpose in (ssl.Purpose.SERVER_AUTH, ssl.Purpose.CLIENT_AUTH)]
    except ssl.SSLError:
        hint = "Name the authority's certificate in PEM format."
        raise _make_error("tls_ca", ca, "it holds no certificate", hint) from None
    try:
        for side in sides:
            side.load_cert_chain(cert, key, password=lambda: "")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            hint = "Name the key that belongs to the certificate."
            raise _make_error("tls_key", key, "it is not the key of tls_cert", hint) from None
        name, path = _find_unreadable(cert, key)
        what = "certificate" if name == "tls_cert" else "key without a passphrase"
        raise _make_error(name, path, f"it holds no usable {what}", "Name a file in PEM format.") from None
    try:
        _check_handshake(*sides)
    except ssl.SSLCertVerificationError as error:
        raise _make_error(
            "tls_cert",
            cert,
            error.verify_message,
            "Name a certificate for servers and clients that the authority of tls_ca signed.",
        ) from None


def _make_context(purpose: ssl.Purpose, ca: str) -> ssl.SSLContext:
    """Return a context like Dask's: both sides present a certificate, and host names are not checked."""
    context = ssl.create_default_context(purpose, cafile=ca)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _find_unreadable(cert: str, key: str) -> tuple[str, str]:
    """Return which of the two files OpenSSL cannot use."""
    try:
        ssl.create_default_context(cafile=cert)
    except ssl.SSLError:
        return "tls_cert", cert
    return "tls_key", key


def _check_handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Perform a handshake in memory, to check that certificate, key and CA belong together."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends: list[Any] = [client.wrap_bio(down, up), server.wrap_bio(up, down, server_side=True)]
    for _ in range(3):  # a handshake takes at most two flights per side
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
