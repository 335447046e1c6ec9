"""Importing: rows of any format into a dataset, in one transaction, nothing overwritten."""

from annotation.services.imports.report import ImportReport
from annotation.services.imports.run import DatasetNameError, import_records
from annotation.services.imports.uploads import import_upload

__all__ = ["DatasetNameError", "ImportReport", "import_records", "import_upload"]
