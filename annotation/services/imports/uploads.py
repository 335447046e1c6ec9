"""Importing what somebody uploads in the browser."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from django.core.files.uploadedfile import UploadedFile

from annotation.core.formats.detect import AUTO
from annotation.models import User
from annotation.services.imports.report import ImportReport
from annotation.services.imports.run import import_records


class ImportUpload(Protocol):
    """What imports an upload; judges' recorded verdicts have one of their own."""

    def __call__(
        self,
        *,
        upload: UploadedFile[Any],
        dataset_slug: str,
        actor: User,
        now: datetime,
        format_name: str = AUTO,
        dry_run: bool = False,
    ) -> ImportReport:
        """Import an upload; raises what `import_records` raises."""


def import_upload(
    *,
    upload: UploadedFile[Any],
    dataset_slug: str,
    actor: User,
    now: datetime,
    format_name: str = AUTO,
    dry_run: bool = False,
) -> ImportReport:
    """Import an uploaded file; raises what `import_records` raises.

    The file is written to a name of ours, so that the name it came with touches no path.
    """
    with TemporaryDirectory(prefix="sensejudge-upload-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        return import_records(
            path=path,
            dataset_slug=dataset_slug,
            now=now,
            format_name=format_name,
            dry_run=dry_run,
            actor=actor,
        )
