"""A careless annotator: made study, gold and repeats, pause by rule, let go on, figures."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from annotation.models import (
    AuditEvent,
    Claim,
    GoldLabel,
    ItemKind,
    PairwiseLabel,
    Participation,
    Study,
    StudyItem,
    StudyStatus,
)
from annotation.services.studies import create_study, set_status
from tests.annotation.test_services_studies import plan
from tests.factory import (
    make_comparison,
    make_dataset,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


class Annotator:
    """Somebody at the labelling pages, who knows what is right and may not care."""

    def __init__(self, client, user, study):
        self.client, self.user, self.study = client, user, study

    def page(self):
        self.client.force_login(self.user)
        return self.client.get(reverse("annotation:next", args=[self.study.slug]))

    def at_hand(self):
        claim = Claim.objects.select_related("item").filter(annotator=self.user, state="ACTIVE")
        return claim.order_by("-claimed_at").first()

    def answer(self, *, right, submission=None):
        """Answer the item at hand; of gold items A is right. Its page, and what came of it."""
        shown = self.page()
        claim = self.at_hand()
        first = right is (claim.shown_order == "ORIGINAL")
        address = reverse("annotation:answer", args=[self.study.slug, claim.item_id])
        sent = {"answer": "FIRST" if first else "SECOND", "submission": submission or uuid4()}
        return claim.item, shown, self.client.post(address, sent)


@pytest.fixture
def study():
    """60 pairs, half with a gold answer; a tenth of the study gold, a tenth repeats."""
    dataset = make_dataset()
    turn = make_turn(make_session(make_scenario(dataset)), user_message="Which one?")
    for number in range(60):
        pair = make_comparison(
            turn,
            response_a=make_response(turn, text=f"Good {number}.", model=f"m{number}"),
            response_b=make_response(turn, text=f"Bad {number}.", model=f"n{number}"),
        )
        if number % 2:
            GoldLabel.objects.create(comparison=pair, verdict="A", source="DATASET")
    manager = make_user(role="MANAGER", display_name="Mia Manager")
    rules = {
        "overlap": 1,
        "guidelines": "",
        "annotators": (make_user(username="ann").username,),
        "gold_rate": 0.1,
        "repeat_rate": 0.1,
        "pause_gold_below": 0.6,
        "pause_after": 3,
    }
    slug = create_study(plan(dataset, **rules), by=manager)
    set_status(study=slug, status=StudyStatus.OPEN, by=manager)
    return Study.objects.get(slug=slug)


def test_an_annotator_who_answers_gold_wrongly_is_paused_and_may_go_on(client, study):
    ann = Annotator(client, study.annotators.get(), study)
    part = Participation.objects.get(study=study)

    gold_answered = 0
    while not part.paused_at:
        item, shown, response = ann.answer(right=False)
        assert response.status_code == 302
        html = shown.content.decode().lower()
        assert not re.search(r"\bgold\b|\brepeat", html)
        gold_answered += item.kind == ItemKind.GOLD
        part.refresh_from_db()
    assert gold_answered == 3

    # The next page says so plainly, and not which items it was.
    html = ann.page().content.decode()
    assert "You are paused in this study" in html
    assert "Mia Manager" in html
    assert not re.search(r"\bgold\b|\brepeat", html.lower())
    assert not Claim.objects.filter(annotator=ann.user, state="ACTIVE").exists()

    # What is sent all the same is refused, and changes nothing.
    stored = PairwiseLabel.objects.count()
    last = Claim.objects.filter(annotator=ann.user).order_by("-finished_at").first()
    address = reverse("annotation:answer", args=[study.slug, last.item_id])
    refused = client.post(address, {"answer": "FIRST", "submission": uuid4()})
    assert refused.status_code == 409
    assert "You are paused in this study" in refused.content.decode()
    assert PairwiseLabel.objects.count() == stored

    # Their list of studies offers nothing to continue.
    assert "You are paused" in client.get(reverse("annotation:studies")).content.decode()

    # A manager sees why, and lets them go on.
    client.force_login(study.created_by)
    quality = reverse("annotation:quality", args=[study.slug])
    assert "Gold accuracy too low" in client.get(quality).content.decode()
    resume = reverse("annotation:quality-resume", args=[study.slug, ann.user.pk])
    assert client.post(resume).url == quality

    # From now on their answers count anew: three right ones keep them in.
    gold_answered = 0
    while ann.page().templates[0].name == "annotation/pair.html":
        item, _shown, response = ann.answer(right=True)
        assert response.status_code == 302
        gold_answered += item.kind == ItemKind.GOLD
    assert gold_answered >= 3
    assert "All done, thank you" in ann.page().content.decode()
    part.refresh_from_db()
    assert part.paused_at is None

    # Everything was answered, every repeat after its first and the other way round.
    assert (
        StudyItem.objects.filter(study=study).count()
        == Claim.objects.filter(annotator=ann.user, state="DONE").count()
    )
    for again in StudyItem.objects.filter(study=study, kind=ItemKind.REPEAT):
        first = Claim.objects.get(item=again.repeat_of)
        second = Claim.objects.get(item=again)
        assert second.claimed_at > first.finished_at
        assert {first.shown_order, second.shown_order} == {"ORIGINAL", "SWAPPED"}
    assert set(PairwiseLabel.objects.values_list("repeat_index", flat=True)) == {0, 1}
    actions = AuditEvent.objects.filter(target="participation").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == [
        "participation.paused",
        "participation.resumed",
    ]


def test_the_answer_that_pauses_is_kept_however_often_it_is_sent(client, study):
    ann = Annotator(client, study.annotators.get(), study)
    part = Participation.objects.get(study=study)
    submission = uuid4()
    while not part.paused_at:
        submission = uuid4()
        item, _shown, _response = ann.answer(right=False, submission=submission)
        part.refresh_from_db()
    stored = PairwiseLabel.objects.count()
    address = reverse("annotation:answer", args=[study.slug, item.pk])
    again = client.post(address, {"answer": "FIRST", "submission": submission})
    assert "nothing was changed" in again.content.decode()
    assert PairwiseLabel.objects.count() == stored


def test_no_number_tells_a_repeat_to_those_who_share_the_items(client, study):
    """Each meets a repeat after as many items of their own: later than its place in the plan."""
    study.annotators.add(make_user(username="bea"))
    people = [Annotator(client, user, study) for user in study.annotators.order_by("username")]
    shown = {person.user.pk: [] for person in people}
    fell = {ItemKind.NORMAL: 0, ItemKind.GOLD: 0, ItemKind.REPEAT: 0}
    plan_fell = 0
    for _round in range(30):
        for person in people:
            item, page, _response = person.answer(right=True)
            html = page.content.decode()
            (address,) = re.findall(r"/items/(\d+)/answer/", html)
            assert not re.search(rf"\b{item.pk}/(answer|lease|skip|ahead|)\b", html)
            before = shown[person.user.pk]
            if before:
                fell[ItemKind(item.kind)] += int(address) < before[-1][0]
                plan_fell += item.pk < before[-1][1]
            before.append((int(address), item.pk))
    assert plan_fell  # the items' own numbers would tell
    assert fell[ItemKind.NORMAL] > 10


def test_an_address_with_a_number_that_hides_nothing_is_not_found(client, study):
    client.force_login(study.annotators.get())
    assert client.get(f"/studies/{study.slug}/items/9999999999999/").status_code == 404
