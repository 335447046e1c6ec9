from __future__ import annotations

import pytest

from annotation.core.choices import Reason, Verdict
from annotation.core.formats import helpsteer
from annotation.core.formats.detect import open_records
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines

OTHERS = {"correctness": 4, "coherence": 4, "complexity": 1, "verbosity": 0}
DIALOGUE = (
    "Plan a picnic.<extra_id_1>Assistant\nWhich day?\n<extra_id_1>User\nSunday,\nby the lake.\n"
)


def rated(helpfulness, response="Oil it.", prompt="bike squeaks", **changes):
    return {
        "prompt": prompt,
        "response": response,
        "helpfulness": helpfulness,
        **OTHERS,
        **changes,
    }


def group(*rows):
    return {"rows": list(rows), "lines": list(range(1, len(rows) + 1))}


def winner(turn, comparison):
    [gold] = comparison.gold
    texts = {each.key: each.text for each in turn.responses}
    if gold.verdict is Verdict.TIE:
        return "tie"
    return texts[comparison.a if gold.verdict is Verdict.A else comparison.b]


def test_the_responses_to_a_prompt_compare_by_helpfulness():
    session = record_of(group(rated(4), rated(0, "Ride faster.")), helpsteer.parse_rated)
    [turn] = session.turns
    assert (session.scenario, turn.user_message) == ("helpsteer2", "bike squeaks")
    assert [(each.text, each.model) for each in turn.responses] == [
        ("Oil it.", ""),
        ("Ride faster.", ""),
    ]
    assert [each.gold[0].score for each in turn.responses] == [5, 1]
    assert turn.responses[0].extra == OTHERS
    [comparison] = turn.comparisons
    assert winner(turn, comparison) == "Oil it."
    [label] = comparison.labels
    assert (label.details.annotator, label.verdict) == ("benchmark", comparison.gold[0].verdict)


def test_equal_helpfulness_is_a_tie_also_of_equal_texts():
    session = record_of(
        group(rated(2), rated(2), rated(2, "Ride faster."), rated("3", None)), helpsteer.parse_rated
    )
    [turn] = session.turns
    assert [(each.text, each.variant) for each in turn.responses] == [
        ("Oil it.", ""),
        ("Oil it.", "B"),
        ("Ride faster.", ""),
        (None, ""),
    ]
    told = [winner(turn, each) for each in turn.comparisons]
    assert (told.count("tie"), told.count(None)) == (3, 3)
    assert len({each.key for each in turn.comparisons}) == 6


def test_a_prompt_of_several_turns_is_a_dialogue():
    session = record_of(rated(3, "Bring bread.", DIALOGUE), helpsteer.parse_rated)
    first, last = session.turns
    assert (first.user_message, first.responses[0].text) == ("Plan a picnic.", "Which day?")
    assert first.responses[0].original
    assert last.user_message == "Sunday,\nby the lake."
    assert [each.text for each in last.responses] == ["Bring bread."]
    assert last.comparisons == ()


def test_each_annotators_rating_is_one_of_nobody_across_rows():
    lists = {name: [value, value, 2] for name, value in OTHERS.items()}
    row = rated([4, 3, "0"], **lists, note="odd", short=[7])
    session = record_of(group(row, rated([2], "Ride faster.")), helpsteer.parse_disagreements)
    [turn] = session.turns
    one, two = turn.responses
    assert [(each.details.annotator, each.score, each.reason) for each in one.satisfaction] == [
        ("unnamed-1", 5, None),
        ("unnamed-2", 4, None),
        ("unnamed-3", 1, Reason.NOT_RECORDED),
    ]
    assert one.satisfaction[2].details.extra == dict.fromkeys(OTHERS, 2)
    assert one.satisfaction[0].details.extra == {**OTHERS, "short": 7}
    assert (one.gold, one.extra) == ((), {"note": "odd"})
    assert [each.score for each in two.satisfaction] == [3]
    [comparison] = turn.comparisons
    assert (comparison.labels, comparison.gold) == ((), ())


def test_means_and_single_ratings_share_their_sessions():
    means = record_of(group(rated(4), rated(0, "Ride.")), helpsteer.parse_rated)
    each = record_of(group(rated([4]), rated([0], "Ride.")), helpsteer.parse_disagreements)
    assert means.key == each.key
    assert means.turns[0].comparisons[0].key == each.turns[0].comparisons[0].key


def preference(strength=-3, **changes):
    row = {
        "split": "train",
        "prompt": "Name a river.",
        "response_1": "The Elbe.",
        "response_2": "Tea.",
        "preference_strength": strength,
        "preference_statement": "@Response 1 is better.",
        "preference_elaboration": "It is one.",
        "three_most_similar_preferences": [],
        "all_preferences_unprocessed": [],
        **changes,
    }
    return {key: value for key, value in row.items() if value is not ...}


@pytest.mark.parametrize(
    ("told", "verdict", "strength"),
    [
        (-3, Verdict.A, 2),
        (-2, Verdict.A, 2),
        (-1, Verdict.A, 1),
        (0, Verdict.TIE, None),
        (1, Verdict.B, 1),
        (3, Verdict.B, 2),
    ],
)
def test_a_preference_below_0_is_for_the_first_response(told, verdict, strength):
    for row, parse in (
        (preference(told), helpsteer.parse_preference),
        (third(told), helpsteer.parse_third),
    ):
        turn = record_of(row, parse).turns[-1]
        [comparison] = turn.comparisons
        texts = {each.key: each.text for each in turn.responses}
        assert texts[comparison.a] == "The Elbe."
        assert [gold.verdict for gold in comparison.gold] == [verdict]
        [label] = comparison.labels
        assert (label.details.annotator, label.verdict, label.strength) == (
            "benchmark",
            verdict,
            strength,
        )


def test_everybody_says_why_and_some_that_neither_is_valid():
    said = [
        {"strength": -2, "justification": "The Elbe is a river."},
        {"strength": -100, "justification": "Neither."},
        {"strength": 0},
    ]
    row = preference(all_preferences_unprocessed=said)
    session = record_of(row, helpsteer.parse_preference)
    [comparison] = session.turns[0].comparisons
    assert comparison.gold[0].rationale == "@Response 1 is better. It is one."
    assert comparison.extra == {"split": "train", "three_most_similar_preferences": []}
    told = [
        (each.details.annotator, each.verdict, each.strength, each.both_bad, each.details.comment)
        for each in comparison.labels[1:]
    ]
    assert told == [
        ("unnamed-1", Verdict.A, 2, False, "The Elbe is a river."),
        ("unnamed-2", Verdict.TIE, None, True, "Neither."),
        ("unnamed-3", Verdict.TIE, None, False, ""),
    ]
    assert comparison.labels[1].details.extra == {"strength": -2}
    bare = preference(preference_statement=None, preference_elaboration=...)
    [comparison] = record_of(bare, helpsteer.parse_preference).turns[0].comparisons
    assert comparison.gold[0].rationale == ""


def test_a_preference_is_a_comparison_of_its_own_beside_that_of_the_ratings():
    row = preference(response_1="Oil it.", response_2="Ride.", prompt="bike squeaks")
    one = record_of(row, helpsteer.parse_preference)
    other = record_of(group(rated(4), rated(0, "Ride.")), helpsteer.parse_rated)
    assert one.key == other.key
    assert one.turns[0].comparisons[0].key != other.turns[0].comparisons[0].key


def third(overall=-3, **changes):
    row = {
        "domain": "general",
        "language": "english",
        "context": [{"role": "user", "content": "Name a river."}],
        "response1": "The Elbe.",
        "response2": "Tea.",
        "overall_preference": overall,
        "individual_preference": [],
        **changes,
    }
    return {key: value for key, value in row.items() if value is not ...}


def test_a_row_of_helpsteer3_has_its_dialogue_its_domain_and_everybodys_reasons():
    said = {"score": 1, "reasoning": "2 is warm.", "feedback1": "Fine.", "feedback2": "Odd."}
    context = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "A river?"},
    ]
    row = third(context=context, individual_preference=[said], more=1)
    session = record_of(row, helpsteer.parse_third)
    assert (session.scenario, session.language, session.system_prompt) == (
        "general",
        "en",
        "Be brief.",
    )
    assert [turn.user_message for turn in session.turns] == ["Hi", "A river?"]
    [comparison] = session.turns[1].comparisons
    assert comparison.extra == {"more": 1}
    label = comparison.labels[1]
    assert (label.details.annotator, label.verdict, label.strength) == ("unnamed-1", Verdict.B, 1)
    assert label.details.comment == "2 is warm."
    assert label.details.extra == {"score": 1, "feedback1": "Fine.", "feedback2": "Odd."}


def test_the_language_of_code_is_a_programming_language():
    session = record_of(third(domain="code", language="python"), helpsteer.parse_third)
    assert (session.scenario, session.language) == ("code", "")
    assert session.turns[0].comparisons[0].extra == {"language": "python"}
    bare = record_of(third(domain=..., language=None), helpsteer.parse_third)
    assert (bare.scenario, bare.language) == ("helpsteer3", "")


@pytest.mark.parametrize(
    ("row", "parse", "fault"),
    [
        (rated(5), helpsteer.parse_rated, ("helpfulness", "Must be between 0 and 4")),
        (
            rated([4, 5]),
            helpsteer.parse_disagreements,
            ("helpfulness[1]", "Expected a whole number from 0 to 4"),
        ),
        (
            rated(["x"]),
            helpsteer.parse_disagreements,
            ("helpfulness[0]", "Expected a whole number from 0 to 4"),
        ),
        (
            preference(-100),
            helpsteer.parse_preference,
            ("preference_strength", "Must be between -3 and 3"),
        ),
        (
            preference(all_preferences_unprocessed=[{"strength": 4}]),
            helpsteer.parse_preference,
            ("all_preferences_unprocessed[0].strength", "Must be between -3 and 3"),
        ),
        (third(context="Hi"), helpsteer.parse_third, ("context", "Expected a list")),
    ],
)
def test_what_cannot_be_understood_is_a_fault(row, parse, fault):
    assert faults_of(row, parse) == [fault]


def test_the_faults_of_a_group_have_their_own_lines(tmp_path):
    path = write_lines(tmp_path / "f", rated(4), rated(9, "Ride."), rated(1, prompt="tyre flat"))
    chosen, rows = open_records(path)
    assert chosen.name == "helpsteer2"
    bad, good = rows
    assert [(fault.line, fault.field) for fault in bad.faults] == [(2, "helpfulness")]
    assert session_of(good).turns[0].user_message == "tyre flat"


def test_rows_are_told_apart():
    kinds = {
        helpsteer.looks_like_rated: rated(3),
        helpsteer.looks_like_disagreements: rated([3]),
        helpsteer.looks_like_preference: preference(),
        helpsteer.looks_like_third: third(),
    }
    for looks_like, own in kinds.items():
        assert [row for row in kinds.values() if looks_like(row)] == [own]
        assert not looks_like("row")
