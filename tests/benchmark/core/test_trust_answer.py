from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval
from benchmark.core.accuracy import Gain
from benchmark.core.trust import (
    BASE,
    FIRST,
    LONGER,
    MAJORITY,
    SELECTED,
    SHORTER,
    JudgedComparison,
    trust_figures,
)
from benchmark.core.trust_answer import Relation, TrustVerdict, relation, trust_answer

A, B = Verdict.A, Verdict.B
YES, NO, UNSURE = TrustVerdict
COLUMNS = (BASE, SELECTED, MAJORITY, LONGER)


def figures(*groups, columns=COLUMNS, in_place=False):
    """A session a comparison, in which the annotator says A.

    A group is how often, and who of the columns says A (`+`), B (`-`) or nothing (`.`).
    """
    made = []
    for times, marks in groups:
        said = {
            voice: {Order.COMBINED: A if mark == "+" else B}
            for voice, mark in zip(columns, marks, strict=True)
            if mark != "."
        }
        made += [
            JudgedComparison(len(made) + place, "s", A, said, in_place=in_place)
            for place in range(times)
        ]
    return trust_figures(made, [], seed=1)


def answer(*groups, **settings):
    found = trust_answer(figures(*groups, **settings))
    return found.verdict, found.sentence(share=lambda share: f"{100 * share:.0f} %")


def test_without_a_decision_there_is_no_answer():
    assert trust_answer(figures()) is None
    assert trust_answer(figures((20, "..+."))) is None


@pytest.mark.parametrize(
    ("verdict", "sentence", "groups"),
    [
        (  # the case in which "better than chance" was the headline
            NO,
            "No: colleagues agree 94 %, the judge 67 %, preferences make no clear difference "
            "(67 % → 67 %), no better than always choosing the longer response (67 %).",
            [(94, "++++"), (47, "--+-"), (6, "++-+"), (3, "----")],
        ),
        (
            YES,
            "Yes: colleagues agree 50 %, the judge 90 %, preferences help (40 % → 90 %), better "
            "than always choosing the longer response (50 %).",
            [(40, "++++"), (25, "-+--"), (25, "-+--"), (10, "--++")],
        ),
        (
            NO,
            "No: preferences help (20 % → 70 %), but always choosing the longer response does "
            "better (90 %).",
            [(20, "++.+"), (50, "-+.+"), (20, "--.+"), (10, "--.-")],
        ),
        (
            NO,
            "No: preferences make it worse (90 % → 70 %), better than always choosing the longer "
            "response (40 %).",
            [(40, "++.+"), (30, "++.-"), (20, "+-.-"), (10, "--.-")],
        ),
        (
            UNSURE,
            "Not enough evidence: preferences make no clear difference (69 % → 71 %), not "
            "clearly better than always choosing the longer response (69 %).",
            [(66, "++.+"), (3, "+-.+"), (5, "-+.-"), (26, "--.-")],
        ),
        (
            UNSURE,
            "Not enough evidence: preferences make no clear difference (60 % → 53 %), better than "
            "always choosing the longer response (20 %), indistinguishable from chance.",
            [(3, "++.+"), (5, "++.-"), (1, "+-.-"), (6, "--.-")],
        ),
        (
            NO,
            "No: preferences make it worse (90 % → 10 %), less often than chance.",
            [(10, "++.."), (80, "+-.."), (10, "--..")],
        ),
        (
            UNSURE,
            "Not enough evidence: without preferences 50 %, with them 100 %, always choosing the "
            "longer response agrees 50 %, too few sessions to tell.",
            [(2, "++.+"), (2, "-+.-")],
        ),
        (
            NO,
            "No: the judge agrees 30 %, less often than chance.",
            [(30, "+..."), (70, "-...")],
        ),
        (  # the base judge alone was asked
            YES,
            "Yes: colleagues agree 80 %, the judge 90 %, better than always choosing the longer "
            "response (50 %).",
            [(50, "+.++"), (30, "+.+-"), (10, "+.--"), (10, "-.--")],
        ),
        (  # no rule decided anything
            YES,
            "Yes: preferences help (50 % → 90 %).",
            [(50, "++.."), (40, "-+.."), (10, "--..")],
        ),
        (
            YES,
            "Yes: colleagues agree 80 %, the judge 80 %.",
            [(80, "+.+."), (20, "-.-.")],
        ),
        (
            UNSURE,
            "Not enough evidence: the judge agrees 80 %.",
            [(80, "+..."), (20, "-...")],
        ),
        (  # colleagues share too few comparisons
            YES,
            "Yes: preferences help (50 % → 90 %), better than always choosing the longer response "
            "(50 %).",
            [(5, "++++"), (45, "++.+"), (40, "-+.-"), (10, "--.-")],
        ),
    ],
)
def test_the_answer_compares_with_people_the_base_and_the_best_rule(verdict, sentence, groups):
    assert answer(*groups) == (verdict, sentence)


def test_a_judge_clearly_below_people_is_refused_though_no_rule_is_as_good():
    groups = [(60, "++++"), (20, "+++-"), (15, "--+-"), (5, "----")]
    assert answer(*groups) == (
        NO,
        "No: colleagues agree 95 %, the judge 80 %, preferences make no clear difference "
        "(80 % → 80 %), better than always choosing the longer response (60 %).",
    )


def test_the_base_judge_in_place_of_a_set_is_not_compared_with_itself():
    _verdict, told = answer((80, "++.+"), (20, "--.-"), in_place=True)
    assert told == (
        "Not enough evidence: the judge agrees 80 %, no better than always choosing the longer "
        "response (80 %)."
    )


@pytest.mark.parametrize(("rule", "word"), [(SHORTER, "shorter response"), (FIRST, "shown first")])
def test_the_rule_is_named(rule, word):
    columns = (BASE, SELECTED, MAJORITY, rule)
    assert word in answer((80, "++.+"), (20, "--.-"), columns=columns)[1]


def test_every_part_is_translated():
    found = trust_answer(figures((80, "+..+"), (20, "-..-")))
    told = found.sentence(share="{:.1f}".format, translate=lambda text: f"[{text}]")
    assert told == (
        "[Not enough evidence: [[the judge agrees 0.8], "
        "[no better than [always choosing the longer response] (0.8)]].]"
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.01, 0.2), Relation.BETTER),
        ((0.0, 0.2), Relation.ALIKE),
        ((-0.2, 0.0), Relation.ALIKE),
        ((-0.2, -0.01), Relation.WORSE),
        (None, Relation.UNKNOWN),
    ],
)
def test_only_an_interval_tells_two_apart(ends, expected):
    assert relation(Gain(0.1, ends and Interval(*ends), 10, None)) is expected
    assert relation(None) is Relation.UNKNOWN
