"""A file that is written while it is sent: memory holds one block, whatever its length."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from annotation.exports import ExportFormat


def download(blocks: Iterator[str], *, name: str, format_: ExportFormat) -> StreamingHttpResponse:
    """The blocks as an attachment of this name and format."""
    response = StreamingHttpResponse(
        (block.encode() for block in blocks), content_type=f"{format_.content_type}; charset=utf-8"
    )
    header = content_disposition_header(as_attachment=True, filename=f"{name}.{format_.value}")
    response.headers["Content-Disposition"] = header or "attachment"
    response.headers["Cache-Control"] = "no-store"
    return response
