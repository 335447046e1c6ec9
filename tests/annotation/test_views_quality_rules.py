"""Who breaks a rule of a study is named with it, on its page and on that of its quality."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from annotation.models import GoldLabel, PairwiseLabel, Participation, Study
from tests.annotation.test_views_quality import PairStudy
from tests.factory import (
    make_claim,
    make_dataset,
    make_item,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def pairs():
    return PairStudy()


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def page_of(client):
    return client.get(reverse("annotation:quality", args=["pilot"]))


def seen(response, part):
    """The text of a part of a page."""
    found = re.search(rf'(?s)id="{part}">(.*?)</section>', response.content.decode())
    return "" if found is None else " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def test_whoever_breaks_a_rule_needs_attention_with_the_rule_paused_or_not(manager, pairs):
    live = reverse("annotation:study", args=["pilot"])
    assert seen(page_of(manager), "attention") == seen(manager.get(live), "stuck") == ""
    pairs.study.pause_repeats_below, pairs.study.pause_after = 0.7, 2
    pairs.study.save()
    pairs.say(pairs.ada, "AAAA", active_seconds=9.0)
    pairs.say(pairs.ben, "BABB", active_seconds=2.0)
    pairs.say(pairs.ben, "BA", repeat=1, start=2, active_seconds=9.0)
    Participation.objects.filter(annotator=pairs.ada).update(paused_at=NOW, pause_reason="MANAGER")
    rules = (
        "gold accuracy 50 % (1 of 2), below 60 % · repeat consistency 50 % (1 of 2), below 70 % · "
        "too fast in 67 % of answers (4 of 6), above 25 %"
    )
    for page, part in ((page_of(manager), "attention"), (manager.get(live), "stuck")):
        told = seen(page, part)
        assert re.match(r"2 annotators need attention Ada ?: paused", told)
        assert re.search(r"Ben ?: (?:away · )?" + re.escape(rules), told)
    study = pairs.study
    study.fast_seconds, study.pause_gold_below, study.pause_repeats_below = 1.5, None, None
    study.save()
    assert "Ben" not in seen(manager.get(live), "stuck")
    study.fast_seconds, study.fast_share = None, None
    study.save()
    assert "Ben" not in seen(page_of(manager), "attention")


def test_after_a_pause_the_rules_count_answers_from_then_on_alone(manager, pairs):
    pairs.study.pause_repeats_below, pairs.study.pause_after = 0.7, 2
    pairs.study.save()
    pairs.say(pairs.ben, "BBBB", active_seconds=2.0)
    pairs.say(pairs.ben, "AA", repeat=1, start=2, active_seconds=2.0)
    assert "Ben" in seen(page_of(manager), "attention")
    before = PairwiseLabel.objects.latest("created_at").created_at
    Participation.objects.filter(annotator=pairs.ben).update(resumed_at=before)
    assert seen(page_of(manager), "attention") == ""
    PairwiseLabel.objects.filter(repeat_index=1).update(created_at=before + timedelta(seconds=1))
    told = seen(page_of(manager), "attention")
    assert "gold" not in told
    assert "(0 of 2)" in told  # repeats, whose firsts were given before
    assert "(2 of 2)" in told  # fast answers


def test_ratings_are_held_to_the_rules_too(manager):
    dataset = make_dataset()
    ada = make_user(display_name="Ada")
    study = make_study(
        dataset,
        slug="pilot",
        kind="SATISFACTION",
        annotators=[ada],
        pause_gold_below=0.9,
        pause_repeats_below=0.9,
        pause_after=1,
    )
    session = make_session(make_scenario(dataset))
    response = make_response(make_turn(session), original=True)
    item = make_item(study, session=session, kind="GOLD")
    again = make_item(study, session=session, kind="REPEAT", repeat_of=item)
    GoldLabel.objects.create(response=response, score=5, source="DATASET")
    for each in (item, again):
        make_claim(each, ada, state="DONE", finished_at=NOW)
    make_rating(response, annotator=ada, study=study, score=2, reason="OTHER", active_seconds=0.5)
    make_rating(response, annotator=ada, study=study, score=5, repeat_index=1, active_seconds=0.9)
    told = seen(page_of(manager), "attention")
    assert "gold accuracy 0 % (0 of 1)" in told
    assert "repeat consistency 0 % (0 of 1)" in told
    assert "too fast in 100 % of answers (2 of 2), above 25 %" in told
    Study.objects.update(kind="CONVERSATION")  # of a conversation that one held oneself
    assert "too fast in" not in seen(page_of(manager), "attention")
