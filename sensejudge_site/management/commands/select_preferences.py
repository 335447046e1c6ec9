"""`manage.py select_preferences`: the selection alone, on a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from judging.core.matrix import MatrixFile, read_matrix
from judging.core.rules import SelectionMode
from judging.core.selection import DEFAULT_SEED, Assessment, assess
from judging.core.selection_search import SelectionSettings
from sensejudge_site.management.parsing import INPUT_WRONG, OneLineCommand


class Command(OneLineCommand):
    """Reads a correctness matrix, prints the best subset of its columns."""

    help = "Selects the preferences that judge like the annotator, from a correctness matrix."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares the matrix file, the mode and the output."""
        parser.add_argument("--matrix", type=Path, required=True, metavar="FILE")
        parser.add_argument("--mode", choices=["default", "paper"], default="default")
        parser.add_argument(
            "--seed", type=int, default=DEFAULT_SEED, help="seed of the sampled flips"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Runs the selection; exits 2 where the file is not a matrix."""
        file = self._read(options["matrix"])
        mode = SelectionMode(options["mode"].upper())
        if file.difference_penalty and mode is not SelectionMode.PAPER:
            self.stderr.write("difference_penalty is ignored: it applies only to --mode paper.")
        settings = SelectionSettings(
            mode=mode,
            difference_penalty=file.difference_penalty and mode is SelectionMode.PAPER,
        )
        assessment = assess(file.matrix, settings, seed=options["seed"])
        fields = _fields(assessment)
        if options["json"]:
            self.stdout.write(json.dumps(fields))
        else:
            self.stdout.write("\n".join(f"{name}: {value}" for name, value in fields.items()))

    def _read(self, path: Path) -> MatrixFile:
        try:
            file = read_matrix(json.loads(path.read_text(encoding="utf-8-sig")))
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}"
            raise CommandError(message, returncode=INPUT_WRONG) from error
        except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
            message = f"{path} is not JSON: {error}"
            raise CommandError(message, returncode=INPUT_WRONG) from error
        for name in file.ignored:
            self.stderr.write(f"{name} is not a field of a matrix file; ignored")
        return file


def _fields(assessment: Assessment) -> dict[str, object]:
    selection, null = assessment.selection, assessment.null
    assert null is not None  # noqa: S101 - it was asked for
    return {
        "selected": [list(subset) for subset in selection.selected],
        "metric": selection.metric,
        "denominator": selection.denominator,
        "strategy": selection.strategy.value,
        "accuracy": selection.accuracy,
        "leave_one_out": assessment.leave_one_out,
        "null_p95": null.p95,
        "p_value": null.p_value,
        "flagged": assessment.flagged,
        "flips": null.flips,
        "exact": null.exact,
        "seed": null.seed,
        "mode": selection.settings.mode.lower(),
        "difference_penalty": selection.settings.difference_penalty,
    }
