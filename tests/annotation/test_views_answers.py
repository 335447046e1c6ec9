"""The list of one's own answers, and what follows when one of them is changed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from annotation.core.assignment import SkipReason
from annotation.core.labelling import Answer
from annotation.models import Claim, ClaimState, PairwiseLabel, StudyStatus
from annotation.services.claims import next_task, skip
from tests.annotation.labelling import (
    NOW,
    answer,
    make_pair_study,
    make_repeat_study,
    make_session_study,
)
from tests.annotation.pages import answered, next_url, rated, show, url
from tests.factory import (
    make_comparison,
    make_item,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import one_line, tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def answers_url(study):
    return reverse("annotation:answers", args=[study.slug])


def label(study, annotator, *choices):
    """Answer so many items, None skips one; the items in that order."""
    items = []
    for number, choice in enumerate(choices):
        now = NOW + timedelta(minutes=number)
        task = next_task(study=study.slug, annotator=annotator, now=now)
        items.append(task.place.item)
        if choice is None:
            sent = {"reason": SkipReason.OTHER, "submission": f"{number:032x}"}
            skip(study=study.slug, item=task.place.item, annotator=annotator, now=now, **sent)
        else:
            answer(study, task, annotator, choice, now=now)
    return items


def listed(page):
    return [row.finished.item for row in page.context["rows"]]


def test_one_s_own_answers_are_listed_newest_first_and_lead_to_their_items(client, annotator):
    other = make_user()
    study = make_pair_study([annotator, other], items=4, overlap=2)
    label(study, other, Answer.FIRST)
    items = label(study, annotator, Answer.SECOND, None, Answer.FIRST)
    page = client.get(answers_url(study))
    assert listed(page) == items[::-1]
    text = one_line(page)
    assert text.index("Question 3?") < text.index("Question 2?") < text.index("Question 1?")
    assert text.count("Skipped") == 1
    assert "secret-" not in text
    for item in items:
        assert reverse("annotation:item", args=[study.slug, item]) in text
    assert answers_url(study) in one_line(show(client, study))


def test_many_answers_take_as_many_queries_as_few(client, annotator, django_assert_max_num_queries):
    study = make_pair_study([annotator], items=9)
    label(study, annotator, *[Answer.FIRST] * 8)
    with django_assert_max_num_queries(6):
        assert len(listed(client.get(answers_url(study)))) == 8


def test_a_rated_conversation_is_listed(client, annotator):
    study = make_session_study([annotator])
    assert "No answers yet" in one_line(client.get(answers_url(study)))
    show(client, study)
    client.post(url("ratings", study), rated((5, ""), (5, ""), (4, "")))
    text = one_line(client.get(answers_url(study)))
    assert "Question 1?" in text
    assert "Rated" in text


def test_the_first_answer_is_listed_neither_beside_its_repeat_nor_when_that_comes(
    client, annotator
):
    study = make_repeat_study([annotator], items=10)  # the repeat is the 10th after its first
    repeat = study.items.get(kind="REPEAT")
    items = []
    for number in range(11):
        now = NOW + timedelta(minutes=number)
        task = next_task(study=study.slug, annotator=annotator, now=now)
        seen = {task.place.item, *listed(client.get(answers_url(study)))}
        assert not {repeat.pk, repeat.repeat_of_id} <= seen
        items.append(task.place.item)
        answer(study, task, annotator, Answer.FIRST, now=now)
    assert (items[0], items[-1]) == (repeat.repeat_of_id, repeat.pk)
    assert listed(client.get(answers_url(study))) == items[:-10:-1]
    study.status = StudyStatus.CLOSED
    study.save()
    assert listed(client.get(answers_url(study))) == items[::-1]


def test_the_first_answer_stays_off_the_list_where_items_in_between_were_given_back(
    client, annotator
):
    study = make_repeat_study([annotator], items=12)
    items = label(study, annotator, *[Answer.FIRST] * 13)
    repeat = study.items.get(kind="REPEAT")
    between = items[items.index(repeat.repeat_of_id) + 1 : items.index(repeat.pk)]
    back = Claim.objects.filter(item__in=between[:3])
    back.update(state=ClaimState.RELEASED, slot=None, finished_at=None)
    seen = listed(client.get(answers_url(study)))
    assert repeat.repeat_of_id not in seen
    assert repeat.pk in seen


def test_the_way_back_item_by_item_ends_where_the_list_does(client, annotator):
    study = make_repeat_study([annotator], items=12)
    items = label(study, annotator, *[Answer.FIRST] * 13)
    reached, item = [], items[-1]
    while item is not None:
        reached.append(item)
        page = client.get(url("item", study, study.items.get(pk=item)))
        previous = page.context["task"].place.previous
        item = previous and previous.item
    assert reached == listed(client.get(answers_url(study))) == items[:-10:-1]


def test_the_list_is_for_those_in_the_study(client, annotator):
    study = make_pair_study([make_user()])
    assert client.get(answers_url(study)).status_code == 404
    assert client.post(answers_url(study)).status_code == 405
    client.logout()
    assert "/sign-in/" in client.get(answers_url(study)).url


def test_an_older_answer_that_was_changed_is_said_to_be_saved(client, annotator):
    study = make_pair_study([annotator], items=4)
    items = label(study, annotator, Answer.FIRST, Answer.FIRST, Answer.FIRST)
    oldest = study.items.get(pk=items[0])
    went_on = client.post(url("answer", study, oldest), answered("SECOND"))
    assert went_on.url.startswith(f"{next_url(study)}?changed=")
    page = client.get(went_on.url)
    assert page.context["task"].place.previous.item == items[0]
    assert page["HX-Replace-Url"] == next_url(study)
    assert "Saved: Second" in one_line(page)
    assert PairwiseLabel.objects.get(comparison=oldest.comparison).edits == 1
    for odd in ("", "1", "x", "9" * 30):
        page = client.get(next_url(study), {"changed": odd})
        assert page.context["task"].place.previous.item == items[-1]


def test_older_ratings_that_were_changed_are_said_to_be_saved(client, annotator):
    study = make_session_study([annotator])
    show(client, study)
    assert client.post(url("ratings", study), rated(*[(5, "")] * 3)).url == next_url(study)
    again = client.post(url("ratings", study), rated(*[(4, "")] * 3))
    assert again.url.startswith(f"{next_url(study)}?changed=")
    assert "All done, thank you" in one_line(client.get(again.url))


def test_the_last_exchange_is_in_sight_and_what_came_before_is_folded(client, annotator):
    session = make_session(task_context="Cooking.")
    for number in (1, 2):
        turn = make_turn(session, user_message=f"Earlier question {number}?")
        make_response(turn, text=f"Earlier reply {number}.", original=True)
    study = make_study(session.dataset, annotators=[annotator], guidelines="Be fair.")
    study.participations.update(guidelines_read=1)
    make_item(study, comparison=make_comparison(make_turn(session, user_message="And now?")))
    text = tight(show(client, study))
    folded, seen = text.split('<div class="recent">')
    assert "Earlier in this conversation (2 messages)" in folded
    assert "Earlier reply 1." in folded
    assert "Earlier reply 2." in seen.split("</section>")[0]
    assert "Earlier reply 1." not in seen
    assert "Be fair." not in text  # it is asked for when it is wanted
    guidelines = client.get(reverse("annotation:study", args=[study.slug]))
    assert 'id="guidelines"' in one_line(guidelines)
