"""The method in memory; that a stored run decides the same is in test_bench_embedded."""

from __future__ import annotations

from annotation.core.choices import Order, Verdict
from annotation.core.splits import SplitItem, SplitSettings
from benchmark.core.in_memory_run import AnnotatorLabels, rehearse
from benchmark.core.trust import BASE, PERSONAL, SELECTED, SHUFFLED, STACK
from judging.core.judge_prompts import pair_texts
from judging.core.rules import Combine
from judging.core.votes import shuffled_winners

SHORT = "Boil it for seven minutes."
LONG = SHORT + " Then cool it under the tap, peel it and serve it with a little salt and bread."
SETTINGS = SplitSettings(size=4, seed=1)


def texts_of(text_a, text_b, number):
    return pair_texts(
        system_prompt="",
        earlier=(),
        user_message=f"How do I boil egg {number}?",
        text_a=text_a,
        text_b=text_b,
    )


def rehearsed(pairs, verdicts, truth=None):
    items = [
        SplitItem(number, number, *pair, f"s{number}", "c") for number, pair in enumerate(pairs)
    ]
    texts = {number: texts_of(*pair, number) for number, pair in enumerate(pairs)}
    annotator = AnnotatorLabels("eggs:eve", verdicts, verdicts if truth is None else truth)
    return rehearse(items, texts, annotator, SETTINGS, name="eggs\x1f")


def shorter(pairs):
    return {n: Verdict.A if len(a) < len(b) else Verdict.B for n, (a, b) in enumerate(pairs)}


PAIRS = [(SHORT, LONG) if n % 3 else (LONG, SHORT) for n in range(12)]


def right(found, voice):
    scores = [
        winner is row.human for row in found.judged[voice] for winner in row.decisions.values()
    ]
    return sum(scores) / len(scores)


def test_a_taste_against_the_general_one_is_learned():
    found = rehearsed(PAIRS, shorter(PAIRS))
    assert right(found, BASE) == 0
    assert right(found, SELECTED) == 1
    assert found.assessment.selection.accuracy == 1
    assert all("short answers" in text for text in found.preferences)


def test_only_the_test_part_is_judged_in_both_orders():
    found = rehearsed(PAIRS, shorter(PAIRS))
    for voice in (BASE, SELECTED, SHUFFLED):
        assert len(found.judged[voice]) == 8
        assert all(
            set(row.decisions) == {Order.ORIGINAL, Order.SWAPPED} for row in found.judged[voice]
        )


def test_it_is_measured_against_the_truth_and_learns_from_labels_alone():
    labels = shorter(PAIRS)
    truth = {number: verdict.flipped() for number, verdict in labels.items()}
    found = rehearsed(PAIRS, labels, truth)
    assert (right(found, BASE), right(found, SELECTED)) == (1, 0)


def test_ties_are_neither_learned_from_nor_measured():
    labels = dict.fromkeys(range(12), Verdict.TIE) | {0: Verdict.B}
    found = rehearsed(PAIRS, labels)
    assert sum(len(rows) for rows in found.judged.values()) in {0, 5}


def test_without_a_label_the_base_judge_alone_is_left():
    found = rehearsed(PAIRS, {}, shorter(PAIRS))
    assert (found.preferences, found.assessment) == (("",), None)
    assert right(found, SELECTED) == right(found, BASE) == 0


def test_where_every_pair_is_alike_nothing_can_be_selected():
    pairs = [(SHORT, SHORT + " ")] * 12
    found = rehearsed(pairs, dict.fromkeys(range(12), Verdict.A))
    assert (found.preferences, found.assessment) == (("",), None)
    assert right(found, SELECTED) == 0


def test_the_control_learns_from_labels_that_coins_turned_round():
    labels = shorter(PAIRS)
    dev = sorted(set(labels) - {row.key for row in rehearsed(PAIRS, labels).judged[BASE]})
    turned = labels | dict(
        shuffled_winners([(key, labels[key]) for key in dev], seed=1, name="eggs\x1f\x1feggs:eve")
    )
    assert turned != labels
    found = rehearsed(PAIRS, labels)
    assert found.stand_in is Combine.STACK
    assert found.judged[PERSONAL] == found.judged[STACK]
    assert found.judged[SHUFFLED] == rehearsed(PAIRS, turned, labels).judged[STACK]


def test_where_the_base_judge_stands_in_it_is_its_own_control():
    longer = {number: verdict.flipped() for number, verdict in shorter(PAIRS).items()}
    found = rehearsed(PAIRS, longer)
    assert found.stand_in is Combine.BASE
    assert found.judged[PERSONAL] == found.judged[BASE] == found.judged[SHUFFLED]


def test_simple_rules_of_the_same_dev_part_stand_beside_it():
    found = rehearsed(PAIRS, shorter(PAIRS))
    for rows in found.rivals.values():
        assert {row.key for row in rows} == {row.key for row in found.judged[BASE]}
        assert all(set(row.decisions.values()) == {row.human} for row in rows)
    assert set(found.rivals) == {"nearest", "ridge"}
