"""One sentence for every code of this app, and what HTTP answers where that is not 409."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from annotation.core.refusals import gettext_noop, register

REFUSAL_TEXTS: Final = {
    "benchmark:unknown-choice": gettext_noop("The choice was not found."),
    "leaderboard:not-judged": gettext_noop(
        "No finished run has judged this dataset yet. Start one first."
    ),
    "ranking:unknown-anchor": gettext_noop("The anchor model has no rating in these comparisons."),
}

register(REFUSAL_TEXTS, statuses={"benchmark:unknown-choice": HTTPStatus.NOT_FOUND})
