"""Posted forms with files, as pages of captures, dumps, kernels and source files send them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form: the form's field, the file's name, and its bytes."""

    field: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UploadForm:
    """The text fields and the chosen files of a form."""

    fields: dict[str, str] = field(default_factory=dict)
    files: list[Upload] = field(default_factory=list)
