"""Posted forms with files, as pages of captures, dumps, kernels and source files send them."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

FORM = "multipart/form-data"


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


async def read_upload_form(request: Request, most_files: int, most_fields: int, most_bytes: int) -> UploadForm:
    """Return the fields and files of a posted form. most_bytes: of one field or file.

    LayoutError if the body has another media type, is not a form, or has too many parts.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        message = f"The body is '{shorten_value(kind, 60)}'."
        raise LayoutError("unsupported_media_type", message, f"Send the form: {FORM}.")
    sent = UploadForm()
    try:
        async with request.form(max_files=most_files, max_fields=most_fields, max_part_size=most_bytes) as form:
            for name, value in form.multi_items():
                if not isinstance(value, UploadFile):
                    sent.fields[name] = value
                elif value.filename:
                    sent.files.append(Upload(name, value.filename, await value.read()))
    except HTTPException as error:
        hint = f"Send at most {most_files} files and {most_fields} fields as {FORM}."
        raise LayoutError("bad_request", f"The body is not a form: {error.detail}", hint) from None
    return sent
