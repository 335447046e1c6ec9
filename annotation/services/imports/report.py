"""What an import did, in the fields that scripts read."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.core.formats.faults import Fault


@dataclass(frozen=True, slots=True)
class ImportReport:
    """An import told in numbers.

    `rows` were read (those of unwanted users not counted); each either added something (`created`)
    or said only what was stored (`unchanged`). With any fault nothing was written and both are 0.
    `objects` counts what was added by kind; `faults` holds the first 200 of `fault_count`.
    """

    dataset: str
    format: str
    rows: int
    created: int
    unchanged: int
    coerced: int
    fault_count: int
    faults: tuple[Fault, ...]
    objects: dict[str, int]
    missing_users: tuple[str, ...]
    dry_run: bool

    def as_dict(self) -> dict[str, object]:
        """The JSON object of `import_records --json`."""
        return {
            "dataset": self.dataset,
            "format": self.format,
            "rows": self.rows,
            "created": self.created,
            "unchanged": self.unchanged,
            "coerced": self.coerced,
            "fault_count": self.fault_count,
            "faults": [fault.as_dict() for fault in self.faults],
            "objects": self.objects,
            "missing_users": list(self.missing_users),
            "dry_run": self.dry_run,
        }
