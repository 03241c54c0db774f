"""Prerequisites of a fleet: an address, TLS, devices; and the reasons why a scheduler does not answer."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lanescope.app.hardware.device_targets import get_compile_target
from lanescope.app.hardware.pool import START_SECONDS, BrokenWorkerError, WorkerProcess, build_worker_command
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer

Json = dict[str, Any]
HINT = "Is it running, and is its address right?"
PLAIN = "it does not speak TLS, as a scheduler at tcp:// does not"
ENDS = "it ends the connection; both sides need the same protocol, and certificates of one authority"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files for tls://: the authority's certificate, this side's certificate, and its key; "" for none."""

    ca: str = ""
    cert: str = ""
    key: str = ""

    def make_security(self) -> Any:
        """Make Dask's security object: with an authority every connection is encrypted, and both sides show a
        certificate that it signed.
        """
        from distributed.security import Security

        if not self.ca:
            return Security(require_encryption=False)
        files = {
            f"tls_{role}_{kind}": path
            for role in ("client", "worker", "scheduler")
            for kind, path in (("cert", self.cert), ("key", self.key))
        }
        return Security(tls_ca_file=self.ca, require_encryption=True, **files)


def explain_missing_dask() -> str:
    """Return why this process cannot contact a scheduler, "" if Dask is installed; it is looked up, not imported."""
    from importlib.util import find_spec

    return "" if find_spec("distributed") else "Dask is not installed. pip install 'lanescope[fleet]'."


def require_dask() -> None:
    """Raise LayoutError if Dask is not installed."""
    if reason := explain_missing_dask():
        raise LayoutError("no_scheduler", reason, "It is needed for a fleet only.")


def require_scheduler(address: str) -> str:
    """Return a scheduler's address; raise LayoutError if it is empty."""
    if not address:
        raise LayoutError(
            "bad_scheduler",
            "No scheduler is named.",
            "--scheduler tcp://host:8786, or LANESCOPE_SCHEDULER.",
            "scheduler",
        )
    return address


def parse_devices(text: str) -> list[tuple[int, Json]]:
    """Return the CUDA devices of this host by number, as its worker process reports them: all, or those of a text
    `0,1`.
    """
    try:
        process = WorkerProcess(build_worker_command(0), START_SECONDS)
    except BrokenWorkerError as error:
        raise LayoutError(error.code, str(error), "lanescope gpu status has the details.") from None
    hello = process.hello
    process.close()
    if not hello.get("ready"):
        raise LayoutError("no_device", str(hello.get("reason", "")), "A worker needs a CUDA device.")
    devices = [info | {"target": get_compile_target(info)} for info in hello["devices"]]
    chosen = (
        [parse_integer(part, "device", 0, len(devices) - 1) for part in text.split(",")]
        if text
        else range(len(devices))
    )
    return [(index, devices[index]) for index in dict.fromkeys(chosen)]


def explain_failure(error: BaseException) -> str:
    """Explain the cause of a connection that failed; Dask wraps it several layers deep."""
    causes = list(_walk_causes(error))
    for cause in causes:
        if meaning := _explain_cause(cause):
            return meaning
    return str(causes[-1]).strip().split("\n")[0].rstrip(".") or "it gave no reason"


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


# (class of a cause, pattern of its text, meaning); the first match counts
_MEANINGS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, str], ...] = (
    (socket.gaierror, "", "this host knows no such host name"),
    (ConnectionRefusedError, "", "nothing listens there"),
    ((ConnectionResetError, BrokenPipeError), "", ENDS),
    (BaseException, "^Stream is closed$", ENDS),
    (BaseException, "cannot convert to SSL", PLAIN),  # it spoke before TLS could begin
    (ValueError, "name taken", "the scheduler has a worker of this name: give one of the hosts another --name"),
)
_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


def _explain_cause(cause: BaseException) -> str:
    """Return what a cause means, "" if that is unknown."""
    if isinstance(cause, ssl.SSLError):
        return _explain_tls_cause(cause)
    for kind, pattern, meaning in _MEANINGS:
        if isinstance(cause, kind) and re.search(pattern, str(cause)):
            return meaning
    if isinstance(cause, OSError) and type(cause).__module__ == "builtins":
        return cause.strerror or ""
    return ""


def _explain_tls_cause(cause: ssl.SSLError) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the authority of tls_ca did not sign its certificate ({cause.verify_message})"
    if "ALERT" in (cause.reason or ""):
        return "it refuses this side's certificate"
    return PLAIN if cause.reason in _WITHOUT_TLS else ENDS
