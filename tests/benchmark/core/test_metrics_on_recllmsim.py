"""The whole path without a judge, on the public dev data: blocks, history mean, metrics."""

import gzip
import json

import pytest

from annotation.core.choices import Reason
from benchmark.core.metrics import MetricName, evaluate, scored
from judging.core.calibration import score_counts
from judging.core.retrieval import HistoryRating, UserSession, UserTurn, build_blocks
from judging.core.satisfaction_baselines import mean
from tests.paths import shared_data


def sessions_of(users):
    """The conversations of some users in order of task and number, one user message a turn."""
    with gzip.open(shared_data("recllmsim_dev.jsonl.gz"), "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["user"] in users]
    return [
        UserSession(
            row["user"],
            row["scenario"],
            str(row["session"]),
            row["task_context"],
            turns_of(row["history"]),
            row["profile"],
        )
        for row in rows
    ]


def turns_of(history):
    turns = []
    for at, message in enumerate(history):
        if message["role"] == "assistant":
            score = int(message["satisfaction"])
            reason = Reason.OTHER if score <= 3 else None
            rating = HistoryRating(str(at), message["content"], score, reason)
            turns.append(UserTurn(history[at - 1]["content"], message["content"], (rating,)))
    return tuple(turns)


@pytest.fixture(scope="module")
def dev_test():
    splits = json.loads(shared_data("recllmsim_splits.json").read_text(encoding="utf-8"))
    sessions = sessions_of(set(splits["dev_test"]))
    gold = {
        (session.user, session.scenario, session.key, rating.turn_id): rating.score
        for session in sessions
        for turn in session.turns
        for rating in turn.ratings
    }
    return build_blocks(sessions), gold


def test_the_history_mean_reaches_its_known_figures(dev_test):
    blocks, gold = dev_test
    columns = []
    for block in blocks:
        prediction = mean(score_counts([turn.score for turn in block.history]))
        assert prediction is not None
        columns += [
            (
                gold[block.user, block.scenario, target.session_key, target.turn_id],
                prediction.score,
                block.user,
            )
            for target in block.targets
        ]
    assert (len(blocks), len(columns)) == (159, 2_946)
    data = scored(*zip(*columns, strict=True))
    for name, expected in {
        MetricName.PEARSON: 0.3057,
        MetricName.SPEARMAN: 0.3500,
        MetricName.QWK: 0.2699,
        MetricName.F1_DSAT: 0.2171,
    }.items():
        assert evaluate(data, name).value == pytest.approx(expected, abs=5e-5), name
