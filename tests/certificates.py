"""Certificates of the tests, signed by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def sign_certificate(folder: Path, name: str, by: str) -> tuple[str, str]:
    """Return (certificate, key) of a name, signed by an authority of that folder, or by itself."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    authority = ["-CA", str(folder / f"{by}.pem"), "-CAkey", str(folder / f"{by}.key")] if by != name else []
    command = [
        "openssl",
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
        "-x509",
        *authority,
        "-keyout",
        str(key),
        "-out",
        str(cert),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return str(cert), str(key)
