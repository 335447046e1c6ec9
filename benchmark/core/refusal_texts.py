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
    "ablation:needs-words": gettext_noop(
        "Failures by prompt need replies in words: a judge that answers with one letter cannot "
        "think first. Choose another way to read verdicts."
    ),
    "ablation:no-gold": gettext_noop(
        "No gold answer names a winner among these comparisons. Add gold answers, or choose "
        "another scenario."
    ),
    "ablation:nobody": gettext_noop("This dataset has no labels yet. Label some pairs first."),
    "ablation:one-judge": gettext_noop(
        "With a single judge there is nothing to vary. Choose at least two judges, or vary "
        "something else."
    ),
    "benchmark:unknown-choice": gettext_noop("The choice was not found."),
    "construction:bad-name": gettext_noop(
        "A version name has at most 40 letters, digits, hyphens and underscores."
    ),
    "construction:edit-personal": gettext_noop(
        "The prompt contains personal data. Remove it before keeping the prompt."
    ),
    "construction:edit-quality": gettext_noop(
        "The prompt breaks a rule of length and quality. Change it before keeping it."
    ),
    "construction:frozen": gettext_noop(
        "This benchmark is frozen and cannot be changed. Start another construction instead."
    ),
    "construction:no-dialogues": gettext_noop("The dataset has no dialogues. Import some first."),
    "construction:nothing-left": gettext_noop(
        "Every dialogue was dropped, so there is nothing to freeze."
    ),
    "construction:not-done": gettext_noop(
        "The construction is still in progress. Wait until it has finished."
    ),
    "construction:not-in-review": gettext_noop(
        "This dialogue was dropped before the review and cannot be reviewed."
    ),
    "construction:one-model": gettext_noop("Choose both a strong and a weak model, or neither."),
    "construction:other-settings": gettext_noop(
        "Another construction builds this version with other settings. Use the same settings, or "
        "choose another name."
    ),
    "construction:same-model": gettext_noop(
        "The strong and the weak model are the same. Choose two different models."
    ),
    "construction:sorted": gettext_noop(
        "The construction has already used these categories. Retry the construction instead."
    ),
    "construction:unknown": gettext_noop("There is no such construction or dialogue."),
    "construction:unknown-version": gettext_noop("There is no benchmark version of this name."),
    "construction:version-taken": gettext_noop(
        "A benchmark version or dataset of this name exists already. Choose another name."
    ),
    "evaluation:no-history": gettext_noop(
        "This user has no ratings in other scenarios for this evaluator to use."
    ),
    "evaluation:run-gone": gettext_noop(
        "A finished run that this comparison uses was deleted or restarted. Start the comparison "
        "again to see what it would cost now."
    ),
    "leaderboard:corrected-of": gettext_noop(
        "Corrected figures are of a dataset's verdicts, without an anchor."
    ),
    "leaderboard:not-judged": gettext_noop(
        "No finished run has judged this dataset yet. Start one first."
    ),
    "reference:invalid": gettext_noop(
        "This file holds no reference ranking: it needs the columns model and score, or rank."
    ),
    "ranking:unknown-anchor": gettext_noop("The anchor model has no rating in these comparisons."),
    "pairs:each-label-of-judge": gettext_noop(
        "A row for each label is for people's labels only. Choose people, or one row a comparison."
    ),
    "pairs:judge-of-people": gettext_noop(
        "A judge was named, but people's labels were chosen. Choose the judge's verdicts, or name "
        "no judge."
    ),
    "pairs:empty": gettext_noop(
        "No verdict of this choice has a winner, so there is no file. Choose other verdicts, or "
        "label comparisons first."
    ),
    "pairs:no-judge": gettext_noop("Choose the judge whose verdicts you want."),
    "pairs:unknown-judge": gettext_noop(
        "This judge has no verdicts in this dataset. Choose another one."
    ),
    "replay:items": gettext_noop(
        "Choose all turns, a random sample or the hard selection, with a size of 1 or more, or a "
        "benchmark version."
    ),
    "replay:no-candidate": gettext_noop(
        "No candidate has an answer to any of the turns. Choose an endpoint or another model."
    ),
    "replay:no-turns": gettext_noop(
        "No turn can be replayed. A replay needs original responses in conversations of known "
        "users; the hard selection also needs their ratings. A benchmark version needs dialogues "
        "that were built from this dataset and not edited."
    ),
    "replay:not-scored": gettext_noop("No answer of this candidate was scored."),
    "replay:unknown-candidate": gettext_noop(
        "A candidate is an endpoint, or a model whose responses are in the dataset."
    ),
    "snapshot:nothing": gettext_noop(
        "There are no figures to save here yet. Label, or run a judge, first."
    ),
    "snapshot:other-kind": gettext_noop("Only two snapshots of one kind can be compared."),
    "snapshot:unknown": gettext_noop("There is no snapshot of this number."),
}

register(
    REFUSAL_TEXTS,
    statuses=dict.fromkeys(
        (
            "benchmark:unknown-choice",
            "construction:unknown",
            "construction:unknown-version",
            "snapshot:unknown",
        ),
        HTTPStatus.NOT_FOUND,
    ),
)
