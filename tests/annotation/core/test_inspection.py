"""What is in a file, told before anything of it is stored."""

from __future__ import annotations

from annotation.core import inspection
from annotation.core.inspection import inspect
from tests.annotation.core.formats.rows import write_lines

PAIR = {"scenario": "s", "text_a": "x", "text_b": "y", "model_a": "m", "model_b": "n"}


def test_a_file_of_pairs_is_told_by_its_figures(tmp_path):
    label = {"annotator": "ann", "verdict": "A"}
    rows = [
        PAIR | {"prompt": "Hi", "labels": [label, label | {"annotator": "bob"}], "gold": "A"},
        PAIR | {"prompt": "问题是什么", **label},
        PAIR | {"prompt": "Hi", "verdict": "C", "annotator": "ann"},
        {"type": "dataset", "name": "Data"},
    ]
    facts = inspect(write_lines(tmp_path / "f", *rows))
    told = facts.as_dict()
    assert (told["format"], told["rows"], told["whole"], told["source"]) == (
        "sensejudge",
        4,
        True,
        {},
    )
    assert [told[name] for name in ("sessions", "turns", "responses", "comparisons")] == [
        2,
        2,
        4,
        2,
    ]
    assert [told[name] for name in ("verdicts", "ratings", "gold")] == [3, 0, 1]
    assert (told["models"], told["annotators"]) == ({"m": 2, "n": 2}, {"ann": 2, "bob": 1})
    assert (told["languages"], told["scenarios"]) == ({"en": 1, "zh": 1}, {"s": 2})
    assert told["missing"] == []
    assert told["can"] == [
        "Ask annotators, or judges, which response is better",
        "Ask annotators how satisfied they are with each reply",
        "Learn each annotator's preferences, and measure a judge by them",
        "Measure how far annotators agree",
        "Measure judges and annotators by gold answers",
        "Rank the models on a leaderboard",
    ]
    assert (told["fault_count"], facts.faults.groups[0].field) == (1, "verdict")


def test_a_file_of_conversations_lacks_what_it_has_not(tmp_path):
    reply = {"text": "Hello", "original": True}
    session = {"type": "session", "scenario": "s", "language": "de-AT"}
    rated = reply | {"satisfaction": [{"annotator": "u", "score": 5}]}
    rows = [
        session | {"key": "1", "turns": [{"user": "Hi", "responses": [rated]}]},
        session | {"key": "2", "turns": [{"user": "Hi", "responses": []}]},
    ]
    facts = inspect(write_lines(tmp_path / "f", *rows))
    assert (facts.languages, facts.ratings, facts.unanswered) == ({"de": 2}, 1, 1)
    assert "Have models answer the requests" in facts.can()
    assert "Train and measure evaluators of satisfaction" in facts.can()
    assert list(facts.missing()) == [
        "A second response to a request, to compare",
        "Names of models, for a leaderboard",
        "Several annotators on the same item, to measure agreement",
    ]
    again = session | {"key": "2", "turns": [{"user": "Hi", "responses": []}]}
    assert inspect(write_lines(tmp_path / "f", again, again)).sessions == 1
    turns = [{"user": "Hi", "responses": [reply, {"text": "Hey", "model": "m"}]}]
    facts = inspect(write_lines(tmp_path / "f", session | {"key": "3", "turns": turns}))
    assert "Create comparisons of the responses to a request" in facts.can()
    assert next(facts.missing()) == "Verdicts or scores of annotators, to learn from them"


def test_of_a_long_file_the_first_rows_and_names_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "MOST_NAMES", 1)
    path = write_lines(tmp_path / "f", *(PAIR | {"prompt": str(place)} for place in range(3)))
    facts = inspect(path, most_rows=2)
    assert (facts.rows, facts.whole, facts.models) == (2, False, {"m": 2})
    assert list(facts.missing())[-1] == "Gold answers, to measure accuracy without annotators"
