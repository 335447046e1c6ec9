"""Downloads of what the judges said."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.exports import ExportFormat
from annotation.queries.datasets import dataset_of
from annotation.views.access import SignedInRequest, reader_required
from annotation.views.downloads import download
from judging.exports import EXPORTS


@require_safe
@reader_required
def export(_request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download of one kind, for those who see everyone."""
    dataset = dataset_of(slug)
    format_ = ExportFormat(format_name)
    return download(EXPORTS[kind].blocks(dataset, format_), name=f"{slug}-{kind}", format_=format_)
