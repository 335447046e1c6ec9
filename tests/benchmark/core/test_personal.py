"""Personal is claimed for a taste of one's own, and not for what everybody wants."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval
from benchmark.core.accuracy import Gain
from benchmark.core.before_after import NOTHING
from benchmark.core.personal import (
    PersonalClaim,
    PersonalEvidence,
    PersonalGains,
    claim_of,
    common_cases,
    human_agreement,
    personal_gains,
    personal_rows,
)
from benchmark.core.trust import (
    BASE,
    SELECTED,
    STACK,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
)

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
BEA, CAS = (Condition(ConditionKind.OTHER, name) for name in ("bea", "cas"))
SHOWN, NOT_SHOWN = PersonalClaim.SHOWN, PersonalClaim.NOT_SHOWN


def both(winner):
    return {Order.ORIGINAL: winner, Order.SWAPPED: winner}


def case(number, human=A, **decided):
    voices = {"own": SELECTED, "stack": STACK, "base": BASE, "bea": BEA, "cas": CAS}
    decisions = {voices[name]: both(winner) for name, winner in decided.items()}
    return JudgedComparison(number, "s", human, decisions, session=number)


def test_the_others_points_are_averaged_where_any_of_them_decided():
    """Own 1 on all of 0..3, of the others (1 + 0)/2, 0, 0 and 1: a mean of .375.

    Pair 4 nobody else judged, pair 5 the annotator's judge did not, and pair 6 is a tie.
    """
    cases = [
        case(0, own=A, base=B, bea=A, cas=B),
        case(1, own=A, base=A, bea=B, cas=B),
        case(2, own=A, base=A, bea=B),
        case(3, own=A, base=A, cas=A),
        case(4, own=A, base=B),
        case(5, base=A, bea=A),
        case(6, human=TIE, own=A, base=A, bea=B),
    ]
    found = personal_gains(cases, seed=1)
    assert (found.voice, found.others) == (SELECTED, ("bea", "cas"))
    assert (found.over_base.value, found.over_base.comparisons) == (pytest.approx(2 / 5), 5)
    assert (found.over_others.value, found.over_others.comparisons) == (pytest.approx(0.625), 4)
    # Differences .5, 1, 1 and 0: of the eight signs of three two reach 2.5 in size.
    assert found.over_others.p == pytest.approx(2 / 8)
    assert found.over_others.interval is None
    assert [each.comparison for each in common_cases(cases)] == [0, 1, 2, 3, 6]


def test_the_weighted_vote_stands_in_where_there_is_one():
    cases = [case(0, own=B, stack=A, base=B), case(1, own=B, stack=A, base=A, bea=A)]
    found = personal_gains(cases, seed=1)
    assert found.voice == STACK
    assert (found.over_base.value, found.over_others.value) == (0.5, 0.0)


def test_without_preferences_or_without_others_there_is_nothing_to_compare():
    assert personal_gains([case(0, base=A, bea=A)], seed=1) is None
    alone = personal_gains([case(0, own=A, base=B)], seed=1)
    assert (alone.over_others, alone.others) == (Gain(None, None, 0, None), ())


def gains(base, others, *, units=True, comparisons=50):
    ends = Interval(0.0, 1.0) if units else None
    return PersonalGains(
        SELECTED,
        Gain(base, ends, comparisons, None),
        Gain(others, ends, comparisons, None),
        ("bea",),
    )


@pytest.mark.parametrize(
    ("expected", "found", "base_p", "others_p", "people"),
    [
        (SHOWN, gains(0.2, 0.1), 0.01, 0.049, 2),
        (NOT_SHOWN, gains(0.2, 0.1), 0.01, 0.05, 2),
        (NOT_SHOWN, gains(0.2, 0.1), 0.06, 0.01, 2),
        (NOT_SHOWN, gains(0.2, -0.1), 0.01, 0.01, 2),
        (NOT_SHOWN, gains(-0.2, 0.1), 0.01, 0.01, 2),
        (PersonalClaim.TOO_FEW, gains(0.2, 0.1, units=False), 0.01, 0.01, 2),
        (PersonalClaim.NOT_RUN, gains(0.2, None, comparisons=0), 0.01, None, 2),
        (PersonalClaim.ONLY_ONE, gains(0.2, 0.1), 0.01, 0.01, 1),
    ],
)
def test_both_gains_must_be_clear(expected, found, base_p, others_p, people):
    assert claim_of(found, base_p=base_p, others_p=others_p, people=people) is expected


def test_each_gain_is_adjusted_for_the_annotators():
    told = [
        PersonalEvidence(
            annotator=name,
            run=number,
            gains=PersonalGains(
                STACK,
                Gain(0.2, Interval(0.1, 0.3), 40, base_p),
                Gain(0.1, Interval(0.0, 0.2), 30, others_p),
                ("x",),
            ),
            agreement=NOTHING,
            people=2,
            edited=number == 2,
        )
        for number, (name, base_p, others_p) in enumerate(
            [("ann", 0.01, 0.03), ("bea", 0.02, 0.01)], start=1
        )
    ]
    ann, bea = personal_rows(told, judge="lexical")
    assert (ann.gain_over_base_p_holm, ann.gain_over_others_p_holm) == (0.02, 0.03)
    assert (bea.gain_over_base_p_holm, bea.gain_over_others_p_holm) == (0.02, 0.02)
    assert (ann.claim, bea.claim) == (SHOWN, SHOWN)
    assert asdict(bea) == {
        "annotator": "bea", "judge": "lexical", "run": 2, "voice": "stack", "claim": SHOWN,
        "n": 40, "gain_over_base": 0.2, "gain_over_base_low": 0.1, "gain_over_base_high": 0.3,
        "gain_over_base_p": 0.02, "gain_over_base_p_holm": 0.02,
        "others": ("x",), "others_n": 30, "gain_over_others": 0.1, "gain_over_others_low": 0.0,
        "gain_over_others_high": 0.2, "gain_over_others_p": 0.01, "gain_over_others_p_holm": 0.02,
        "human_agreement": None, "human_agreement_low": None, "human_agreement_high": None,
        "human_n": 0, "edited": True,
    }  # fmt: skip


def labels(verdicts, sessions=None):
    return [
        HumanLabel(key, "s", {"A": A, "B": B, "T": TIE}[letter], None, (sessions or range(99))[key])
        for key, letter in enumerate(verdicts)
        if letter != "."
    ]


def test_people_agree_where_both_named_a_winner():
    found = human_agreement(labels("AABT."), [labels("ABBA"), labels("TB..A")])
    # With the first: pairs 0 to 2, of which 0 and 2 alike; with the second: pair 1, not alike.
    assert (found.value, found.n, found.interval) == (0.5, 4, None)
    assert human_agreement(labels("TT"), [labels("AB")]) == NOTHING
    many = human_agreement(labels("A" * 20), [labels("A" * 15 + "B" * 5)])
    assert many.interval.low < 0.75 < many.interval.high


def simulated(draw, *, own, base, others, pairs=60):
    """Verdicts of judges that are right so often, one pair a session, alike in both orders."""
    chances = {SELECTED: own, BASE: base, BEA: others, CAS: others}
    hits = {voice: draw.random(pairs) < chance for voice, chance in chances.items()}
    return [
        JudgedComparison(
            number,
            "s",
            A,
            {voice: both(A if told[number] else B) for voice, told in hits.items()},
            session=number,
        )
        for number in range(pairs)
    ]


def shown_rate(rounds, **rates):
    """In how many studies of three annotators any of them is claimed to be personal."""
    draw = np.random.default_rng(7)
    shown = []
    for _round in range(rounds):
        told = [
            PersonalEvidence(str(number), number, found, NOTHING, 3, edited=False)
            for number in range(3)
            if (found := personal_gains(simulated(draw, **rates), seed=1)) is not None
        ]
        claims = [row.claim is SHOWN for row in personal_rows(told, judge="any")]
        shown.append((any(claims), np.mean(claims)))
    return np.mean(shown, axis=0)


def test_a_taste_of_one_s_own_is_shown_and_that_of_everybody_at_most_at_the_nominal_rate():
    """Personas: theirs right on .9, the base and the others' on .5. Alike: all learned the same."""
    anybody, each = shown_rate(20, own=0.9, base=0.5, others=0.5)
    assert each > 0.95
    # Holm holds the chance of any false claim among the annotators at .05; 3 standard errors more.
    anybody, _each = shown_rate(100, own=0.8, base=0.4, others=0.8)
    assert anybody <= 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5
