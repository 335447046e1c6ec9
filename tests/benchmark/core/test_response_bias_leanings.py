from __future__ import annotations

from annotation.core.choices import Order, Verdict
from benchmark.core.response_bias import ResponsePair, leaning_records, leanings
from benchmark.core.trust import BASE, SELECTED, HumanLabel, JudgedComparison

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
PAIRS = {
    1: ResponsePair("gpt-4", "claude-v1", 300, 100),
    2: ResponsePair("gpt-4", "llama-13b", 100, 300),
    3: ResponsePair("gpt-4", "llama-13b", None, None),
}


def case(comparison, human, **decisions):
    voices = {"base": BASE, "selected": SELECTED}
    return JudgedComparison(
        comparison,
        "s",
        human,
        {
            voices[name]: {Order.ORIGINAL: one, Order.SWAPPED: other}
            for name, (one, other) in decisions.items()
        },
    )


def label(comparison, verdict):
    return HumanLabel(comparison, "s", verdict, None)


def found(cases, labels, judge="gpt-4"):
    return leanings(cases, labels, PAIRS, voices=(BASE, SELECTED), judge=judge, seed=1)


def test_the_annotator_is_measured_on_all_labels_and_voices_on_what_they_decided():
    cases = [
        case(1, A, base=(A, A), selected=(A, B)),
        case(2, A, base=(B, B), selected=(A, A)),
    ]
    told = found(cases, [label(1, A), label(2, A), label(3, B)])
    assert (told.human.verdicts, told.human.value) == (2, 0.5)
    base, selected = told.voices
    assert (base.voice, base.length.value, base.errors.value) == (BASE, 1.0, 1.0)
    assert (selected.voice, selected.length.value, selected.errors.value) == (SELECTED, 0.25, -0.5)
    assert base.own is not None
    assert (base.own.family, base.own.judge_rate, base.own.human_rate) == ("gpt", 0.5, 1.0)
    assert told.any_length
    assert told.any_own


def test_without_texts_there_is_the_family_alone():
    [base] = found([case(3, A, base=(A, A))], [label(3, A)]).voices
    assert (base.length.value, base.errors.value) == (None, None)
    assert base.own is not None


def test_a_judge_of_no_family_here_and_a_silent_voice_are_left_out():
    told = found([case(1, A, base=(A, A))], [], judge="lexical")
    [base] = told.voices
    assert base.own is None
    assert not told.any_own


def test_of_comparisons_that_are_not_known_nothing_is_said():
    told = found([case(9, A, base=(A, A))], [label(9, A)])
    assert not told.any_length
    assert told.voices[0].own is None


def test_scripts_read_flat_rows():
    told = found(
        [case(1, A, base=(A, A), selected=(A, B)), case(2, A, base=(B, B))],
        [label(1, A), label(2, A)],
    )
    human, base, selected = leaning_records("ann", told)
    assert {row["annotator"] for row in (human, base, selected)} == {"ann"}
    assert (human["voice"], human["longer_wins"], human["verdicts"]) == ("human", 0.5, 2)
    assert (base["voice"], base["longer_wins"], base["length_slope_unbounded"]) == (
        "base",
        1.0,
        True,
    )
    assert (base["own_family"], base["self_preference"], base["self_preference_n"]) == (
        "gpt",
        -0.5,
        2,
    )
    assert base["self_preference_low"] is None  # of two sessions
    assert selected["errors_lean_longer"] is None


def test_without_a_family_its_fields_are_empty():
    told = found([case(1, A, base=(A, A))], [], judge="lexical")
    _human, base = leaning_records("ann", told)
    assert (base["own_family"], base["self_preference"], base["self_preference_n"]) == (
        None,
        None,
        0,
    )
