"""The simulated users keep to their scales and give a reason exactly when one is due."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.core.choices import Hallucination, Reason
from sensejudge_site.demo.annotators import CHATTY, LENIENT, RATERS, STRICT, Scorer, raters_of
from sensejudge_site.demo.sessions import TOPICS, Flaw, WrittenResponse, written_sessions

LINE = [each for session in written_sessions() for each in session.original_line()]

SHORT = WrittenResponse("m", "Yes.")
LONG = WrittenResponse("m", "It arrives on Friday at noon, or a little later. " * 12)
FRIENDLY = WrittenResponse("m", "What fun! Imagine we go together! Enjoy, my friend! " * 6)


def scores(rater, response, times=200):
    scorer = Scorer(rater, LINE, seed=7)
    return [scorer.rate(response) for _ in range(times)]


def mean(given):
    return sum(each.score for each in given) / len(given)


@pytest.mark.parametrize("topic", TOPICS)
def test_two_raters_rate_each_topic(topic):
    assert len(raters_of(topic)) == 2


@pytest.mark.parametrize("rater", RATERS, ids=lambda rater: rater.name)
def test_a_reason_stands_exactly_at_three_and_below(rater):
    scorer = Scorer(rater, LINE, seed=1)
    for response in LINE:
        given = scorer.rate(response)
        assert 1 <= given.score <= 5
        assert (given.reason is None) == (given.score >= 4)


def test_the_lenient_rater_scores_higher_than_the_strict_one():
    means = {
        rater.name: mean([each for response in LINE for each in scores(rater, response, 1)])
        for rater in (LENIENT, STRICT)
    }
    assert means[LENIENT.name] - means[STRICT.name] > 0.5


def test_tastes_differ():
    assert mean(scores(STRICT, SHORT)) > mean(scores(STRICT, LONG)) + 1
    assert mean(scores(LENIENT, LONG)) > mean(scores(LENIENT, SHORT)) + 0.5
    assert mean(scores(CHATTY, FRIENDLY)) > mean(scores(CHATTY, LONG)) + 0.5


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        (Flaw.THIN, Reason.INSUFFICIENT_DETAIL),
        (Flaw.SAMEY, Reason.INSUFFICIENT_DIVERSITY),
        (Flaw.CONSTRAINT, Reason.REQUIREMENT_UNMET),
        (Flaw.WRONG_LANGUAGE, Reason.REQUIREMENT_UNMET),
        (Flaw.TRUNCATED, Reason.UNUSABLE),
        (Flaw.UNUSABLE, Reason.UNUSABLE),
        (Flaw.INVENTED, Reason.OTHER),
        (Flaw.OTHER, Reason.OTHER),
    ],
)
def test_a_flaw_costs_points_and_is_the_reason(flaw, reason):
    flawed = scores(STRICT, WrittenResponse("m", SHORT.text, flaw, "why"))
    assert mean(flawed) < mean(scores(STRICT, SHORT)) - 1
    assert {each.reason for each in flawed if each.score <= 3} == {reason}


def test_without_a_flaw_the_reason_is_the_taste_that_was_met_least():
    wordy = {each.reason for each in scores(STRICT, LONG) if each.score <= 3}
    assert wordy == {Reason.OTHER}
    dry = {each.reason for each in scores(CHATTY, LONG) if each.score <= 3}
    assert dry == {Reason.OTHER}
    thin = {each.reason for each in scores(LENIENT, SHORT) if each.score <= 3}
    assert thin == {Reason.INSUFFICIENT_DETAIL}


def test_invented_facts_are_mostly_seen_and_doubt_is_rare():
    invented = scores(STRICT, WrittenResponse("m", SHORT.text, Flaw.INVENTED, "why"))
    seen = Counter(each.hallucination for each in invented)
    assert set(seen) == {Hallucination.YES, Hallucination.NO}
    assert seen[Hallucination.YES] > 160
    sound = Counter(each.hallucination for each in scores(STRICT, SHORT))
    assert set(sound) == {Hallucination.UNSURE, Hallucination.NO}
    assert sound[Hallucination.UNSURE] < 20
