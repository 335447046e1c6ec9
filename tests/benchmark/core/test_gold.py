from __future__ import annotations

from dataclasses import replace

import pytest
from scipy.stats import t

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import wilson
from benchmark.core.accuracy import InvalidPolicy, Judged
from benchmark.core.gold import SUBSETS, GoldComparison, Section, gold_records, gold_report
from benchmark.core.ties import BestOfItem, ScoredPrompt, best_of_report, ties_score

A, B = Verdict.A, Verdict.B


def cases(subset, right, wrong, *, unread=0, start=0):
    """Comparisons judged in both orders alike: gold A, so A is right."""
    verdicts = [A] * right + [B] * wrong + [None] * unread
    return [
        GoldComparison(
            subset,
            Judged(
                1000 * len(subset) + start + place, A, {Order.ORIGINAL: won, Order.SWAPPED: won}
            ),
        )
        for place, won in enumerate(verdicts)
    ]


def report(*groups, **options):
    return gold_report([case for group in groups for case in group], **options)


def scores(found):
    return {each.section: each.value for each in found.sections}


def test_subsets_stand_in_the_order_of_the_cases_and_together():
    found = report(cases("b", 3, 1), cases("a", 1, 1))
    assert [(each.subset, each.agreement.value) for each in found.subsets] == [
        ("b", 0.75),
        ("a", 0.5),
    ]
    assert found.overall.agreement.value == pytest.approx(4 / 6)
    assert found.overall.every_reply.comparisons == 6
    assert found.sections == ()


def test_unreadable_replies_are_left_out_or_wrong():
    excluded = report(cases("a", 3, 0, unread=1))
    wrong = report(cases("a", 3, 0, unread=1), policy=InvalidPolicy.WRONG)
    assert (excluded.overall.agreement.value, excluded.overall.other_policy.value) == (1.0, 0.75)
    assert (wrong.overall.agreement.value, wrong.overall.other_policy.value) == (0.75, 1.0)


def test_a_comparison_that_was_not_judged_is_in_no_figure():
    found = report([GoldComparison("a", Judged(1, A, {}))], cases("b", 1, 0))
    assert [each.subset for each in found.subsets] == ["b"]


def test_a_section_weighs_examples_and_mathematics_as_much_as_all_code():
    found = report(
        cases("math-prm", 5, 5),  # .5 of 10 examples
        cases("hep-cpp", 15, 5),  # .75 of 20
        cases("hep-rust", 20, 0),  # 1 of 20
    )
    [reasoning] = found.sections
    # math-prm weighs 40 like the code: (40 * .5 + 20 * .75 + 20 * 1) / 80
    assert reasoning.value == pytest.approx(11 / 16)
    assert reasoning.weights == {"math-prm": 40, "hep-cpp": 20, "hep-rust": 20}
    assert reasoning.comparisons == 50
    assert reasoning.interval is not None
    assert reasoning.interval.low <= reasoning.value <= reasoning.interval.high


def test_a_section_with_a_subset_of_few_sessions_has_no_interval():
    found = report(cases("hep-cpp", 15, 5), cases("hep-rust", 9, 0))
    assert [each.interval for each in found.sections] == [None]
    assert found.overall.agreement.interval is not None


def test_comparisons_of_one_session_are_drawn_together():
    alone = cases("a", 20, 10)
    thrice = [
        GoldComparison(
            "a", replace(each.judged, key=key + 3 * each.judged.key, session=each.judged.key)
        )
        for each in alone
        for key in range(3)
    ]
    one, together = (report(each).overall for each in (alone, thrice))
    assert (together.agreement.comparisons, together.agreement.sessions) == (90, 30)
    assert together.agreement.interval == one.agreement.interval
    # It never leans: as of as many trials as there are verdicts.
    few, many = one.position.interval, together.position.interval
    assert few.low < many.low < 0 < many.high < few.high


def test_mathematics_alone_weighs_its_own_examples():
    [reasoning] = report(cases("math-prm", 1, 1)).sections
    assert reasoning.weights == {"math-prm": 2}


def test_the_score_is_the_mean_of_the_four_sections():
    found = report(
        cases("alpacaeval-easy", 9, 1),  # Chat: (9 + 1) / (10 + 2) = 10/12
        cases("mt-bench-med", 1, 1),
        cases("llmbar-natural", 1, 1),  # Chat Hard: .5
        cases("donotanswer", 3, 1),  # Safety: .75
        cases("hep-go", 4, 0),  # Reasoning: 1
    )
    assert scores(found) == {
        Section.CHAT: pytest.approx(10 / 12),
        Section.CHAT_HARD: 0.5,
        Section.SAFETY: 0.75,
        Section.REASONING: 1.0,
        None: pytest.approx((10 / 12 + 0.5 + 0.75 + 1) / 4),
    }
    assert found.sections[-1].comparisons == 22


def test_without_all_sections_there_is_no_score():
    assert None not in scores(report(cases("donotanswer", 1, 0), cases("hep-go", 1, 0)))


def test_ties_of_gold_and_subsets_without_a_readable_reply_have_no_weight():
    tied = [GoldComparison("hep-go", Judged(1, Verdict.TIE, {Order.ORIGINAL: A}))]
    found = report(tied, cases("hep-cpp", 0, 0, unread=3), cases("hep-java", 1, 1))
    [reasoning] = found.sections
    assert reasoning.weights == {"hep-java": 2}


def test_the_published_sections_hold_23_subsets():
    names = [name for subsets in SUBSETS.values() for name in subsets]
    assert (len(names), len(set(names))) == (23, 23)


@pytest.mark.parametrize(("right", "wrong"), [(0, 10), (10, 0)])
def test_a_section_of_all_or_none_has_an_interval(right, wrong):
    [safety] = report(cases("donotanswer", right, wrong)).sections
    share = wilson(right, 10)
    assert (safety.interval.low, safety.interval.high) == (share.low, share.high)
    assert safety.interval.high - safety.interval.low == pytest.approx(0.2775, abs=1e-4)


def test_the_score_of_a_judge_that_is_always_right_has_an_interval():
    names = ("alpacaeval-easy", "llmbar-natural", "donotanswer", "hep-go")
    score = report(*(cases(name, 10, 0) for name in names)).sections[-1]
    # Ten sessions in each of four sections of one weight: 40 units, less three for their own means.
    z = t.ppf(0.975, 36)
    assert (score.value, score.interval.high) == (1.0, 1.0)
    assert score.interval.low == pytest.approx(37 / (37 + z**2), abs=1e-4)


def test_position_bias_is_read_from_what_was_shown_and_accuracy_from_the_one_verdict():
    # l* names A throughout; as shown the judge names the first place on two of three comparisons.
    leaned = [(A, B), (A, B), (A, A)]
    cases = [
        GoldComparison(
            "a",
            Judged(
                place,
                A,
                {Order.ORIGINAL: A, Order.SWAPPED: A},
                shown={Order.ORIGINAL: first, Order.SWAPPED: second},
            ),
        )
        for place, (first, second) in enumerate(leaned)
    ]
    found = report(cases).overall
    assert (found.agreement.value, found.agreement.verdicts) == (1.0, 6)
    assert (found.position.first, found.position.second) == (5, 1)
    assert found.consistency.value == pytest.approx(1 / 3)
    told = found.every_reply
    assert (told.accuracy, told.replies) == (1.0, 6)
    assert (told.alike, told.paired, told.first, told.ordered) == (1, 3, 5, 6)


def told(rows):
    return [(row["level"], row["subset"], row["n"], row["accuracy"]) for row in rows]


def test_records_hold_subsets_all_together_and_the_sections():
    found = report(cases("donotanswer", 3, 1, unread=1), cases("hep-go", 1, 0))
    rows = list(gold_records("judge", found))
    assert told(rows) == [
        ("subset", "donotanswer", 4, 0.75),
        ("subset", "hep-go", 1, 1.0),
        ("all", "all", 5, 0.8),
        ("section", "Safety", 4, 0.75),
        ("section", "Reasoning", 1, 1.0),
    ]
    # Of two orders each: 8 readable replies and 2 that are not; always one outcome, as it is A.
    first = rows[0]
    assert (first["verdicts"], first["unreadable"], first["replies"]) == (8, 2, 10)
    assert (first["other_policy"], first["policy"], first["judge"]) == (0.6, "EXCLUDED", "judge")


def test_records_end_with_the_score_of_all_sections():
    names = ("alpacaeval-easy", "llmbar-natural", "donotanswer", "hep-go")
    found = report(*(cases(name, 1, 1) for name in names))
    assert told(gold_records("judge", found))[-1] == ("score", "RewardBench", 8, 0.5)


def test_records_of_items_and_ties_follow_those_of_pairs():
    won, lost = ({Order.COMBINED: each} for each in (A, B))
    items = [BestOfItem("Math", False, decisions) for decisions in ((won,), (lost,), ({},))]  # noqa: FBT003
    items.append(BestOfItem("Focus", False, (won,)))  # noqa: FBT003
    both = [ScoredPrompt("q", tied, (4.0,), (3.0,)) for tied in (True, False)]
    rows = list(
        gold_records(
            "judge",
            report(cases("a", 1, 0)),
            best_of_report(items),
            ties_score(both, seed=1),
        )
    )
    assert told(rows[2:]) == [
        ("best-of", "Math", 2, 0.5),
        ("best-of", "Focus", 1, 1.0),
        ("best-of-mean", "all", 3, 0.75),  # of the two subsets
        ("best-of-all", "all", 3, pytest.approx(2 / 3)),
        ("ties-score", "Ties", 1, 1.01),
    ]
    assert [row.get("items") for row in rows[2:]] == [3, 1, 4, 4, None]
    assert rows[-1]["low"] is None
