"""Importing: rows of any format into a dataset, all of them or none, nothing overwritten."""

from annotation.services.imports.run import (
    Beside,
    ImportReport,
    ImportUpload,
    Written,
    import_records,
    import_upload,
)

__all__ = [
    "Beside",
    "ImportReport",
    "ImportUpload",
    "Written",
    "import_records",
    "import_upload",
]
