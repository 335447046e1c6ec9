"""One sentence for every code of this app, and what HTTP answers where that is not 409."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from annotation.core.refusals import gettext_noop, register

REFUSAL_TEXTS: Final = {
    "ablation:cannot-move": gettext_noop(
        "The lexical judge compares the two responses and the last request only, so showing it "
        "more or fewer turns changes nothing. Choose an endpoint, or vary something else."
    ),
    "ablation:nobody": gettext_noop("Nobody has labelled this dataset yet. Label pairs first."),
    "ablation:one-judge": gettext_noop(
        "With a single judge there is nothing to vary. Choose at least two judges, or vary "
        "something else."
    ),
    "benchmark:unknown-choice": gettext_noop("The choice was not found."),
    "evaluation:no-history": gettext_noop(
        "This user has no ratings in other scenarios for this evaluator to use."
    ),
    "evaluation:run-gone": gettext_noop(
        "A finished run that this comparison uses was deleted or restarted. Start the comparison "
        "again to see what it would cost now."
    ),
    "leaderboard:not-judged": gettext_noop(
        "No finished run has judged this dataset yet. Start one first."
    ),
    "ranking:unknown-anchor": gettext_noop("The anchor model has no rating in these comparisons."),
}

register(REFUSAL_TEXTS, statuses={"benchmark:unknown-choice": HTTPStatus.NOT_FOUND})
