"""The generated study is whole, repeatable and readable by the importer's own format."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from annotation.core.choices import Order
from annotation.core.formats.detect import open_records
from annotation.core.formats.records import DatasetRecord
from sensejudge_site.demo.generate import generate, write


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    write(path)
    chosen, found = open_records(path)
    assert chosen.name == "sensejudge"
    return list(found)


@pytest.fixture(scope="module")
def sessions(rows):
    return [row.record for row in rows[1:]]


def test_every_row_is_understood(rows):
    assert [row.faults for row in rows if row.faults] == []
    assert sum(row.coerced for row in rows) == 0


def test_the_dataset_says_that_it_is_simulated(rows):
    assert isinstance(rows[0].record, DatasetRecord)
    assert rows[0].record.simulated is True
    assert rows[0].record.name == "Demo study (simulated)"


def test_equal_seeds_give_equal_studies_and_others_do_not():
    assert list(generate(3)) == list(generate(3))
    assert list(generate(3)) != list(generate(4))


def test_each_scenario_has_enough_comparisons_for_a_dev_and_a_test_part(sessions):
    counts: Counter[str] = Counter()
    for session in sessions:
        counts[session.scenario] += len(session.turns[-1].comparisons)
    assert counts == dict.fromkeys(counts, 36)
    assert len(counts) == 8


def test_three_annotators_judge_all_but_the_newcomer_and_the_order_is_recorded(sessions):
    for session in sessions:
        model = {response.key: response.model for response in session.turns[-1].responses}
        for comparison in session.turns[-1].comparisons:
            names = [label.details.annotator for label in comparison.labels]
            is_new = "thorough-1" in {model[comparison.a], model[comparison.b]}
            assert names == ([] if is_new else ["concise", "structured", "warm"])
            assert {label.shown_order for label in comparison.labels} <= {
                Order.ORIGINAL,
                Order.SWAPPED,
            }


def test_sides_and_keys_do_not_tell_the_model(sessions):
    a_sides: Counter[str] = Counter()
    for session in sessions:
        last = session.turns[-1]
        model = {response.key: response.model for response in last.responses}
        assert set(model) == {"r1", "r2", "r3", "r4"}
        for comparison in last.comparisons:
            a_sides[model[comparison.a]] += 1
            assert not any(name in comparison.key for name in model.values())
    assert all(50 < count < 94 for count in a_sides.values())  # 72 each by chance


def test_only_the_original_line_is_rated_by_the_two_raters_of_the_topic(sessions):
    for session in sessions:
        for turn in session.turns:
            rated = [response for response in turn.responses if response.satisfaction]
            assert [response.original for response in rated] == [True]
            names = {label.details.annotator for label in rated[0].satisfaction}
            assert len(names) == 2
            assert session.user in names


def test_every_rater_has_history_outside_each_of_two_or_more_scenarios(sessions):
    turns: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for session in sessions:
        for turn in session.turns:
            for response in turn.responses:
                for label in response.satisfaction:
                    turns[label.details.annotator][session.scenario] += 1
    assert len(turns) == 4
    for counts in turns.values():
        assert len(counts) >= 2
        assert all(counts.total() - own >= 8 for own in counts.values())


def test_every_rater_owns_sessions_that_carry_the_profile(sessions):
    owners = Counter(session.user for session in sessions)
    assert owners == dict.fromkeys(owners, 12)
    for session in sessions:
        assert session.profile["occupation"]
        assert "profile" not in session.extra


def test_labels_of_one_annotator_follow_each_other_in_time(sessions):
    times = defaultdict(list)
    for session in sessions:
        for comparison in session.turns[-1].comparisons:
            for label in comparison.labels:
                times[label.details.annotator].append(label.details.given_at)
                assert label.details.active_seconds > 0
    assert all(found == sorted(set(found)) for found in times.values())


def test_the_better_of_two_is_gold_where_one_alone_has_a_plain_flaw(sessions):
    """58 pairs by construction; what is a matter of taste has no gold answer."""
    gold = [
        (comparison, session.turns[-1])
        for session in sessions
        for comparison in session.turns[-1].comparisons
        if comparison.gold
    ]
    assert len(gold) == 58
    for comparison, turn in gold:
        (answer,) = comparison.gold
        texts = {each.key: each for each in turn.responses}
        sides = {"A": texts[comparison.a], "B": texts[comparison.b]}
        better, worse = sides[answer.verdict.value], sides[answer.verdict.flipped().value]
        assert "flaw" not in better.extra
        assert worse.extra["flaw_note"] == answer.rationale
