"""A dataset of three models' answers, for tests of planning comparisons."""

from __future__ import annotations

from annotation.models import Comparison, Dataset
from tests.factory import (
    make_dataset,
    make_label,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)

MODELS = ("alpha", "beta", "gamma")
SCENARIOS = ("Code", "Writing")


def make_answers(*, turns: int = 4, models: tuple[str, ...] = MODELS) -> Dataset:
    """So many turns in each of two scenarios, answered by every model."""
    dataset = make_dataset()
    for name in SCENARIOS:
        scenario = make_scenario(dataset, name=name)
        for _turn in range(turns):
            turn = make_turn(make_session(scenario, language="en"))
            for model in models:
                make_response(turn, model=model)
    return dataset


def label_all(dataset: Dataset) -> None:
    """Somebody finds the model whose name comes first the better one, where nobody said."""
    annotator = make_user()
    for comparison in Comparison.objects.filter(turn__session__dataset=dataset, labels=None):
        make_label(comparison, annotator=annotator, verdict="A")
