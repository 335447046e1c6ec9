"""Importing: rows of any format into a dataset, all of them or none, nothing overwritten."""

from annotation.services.imports.publishing import OutrunError
from annotation.services.imports.report import ImportReport
from annotation.services.imports.run import Beside, DatasetNameError, Written, import_records
from annotation.services.imports.uploads import ImportUpload, import_upload

__all__ = [
    "Beside",
    "DatasetNameError",
    "ImportReport",
    "ImportUpload",
    "OutrunError",
    "Written",
    "import_records",
    "import_upload",
]
