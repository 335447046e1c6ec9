"""Importing: rows of any format into a dataset, all of them or none, nothing overwritten."""

from annotation.services.imports.run import (
    Beside,
    ImportFile,
    ImportReport,
    Written,
    import_records,
)

__all__ = [
    "Beside",
    "ImportFile",
    "ImportReport",
    "Written",
    "import_records",
]
