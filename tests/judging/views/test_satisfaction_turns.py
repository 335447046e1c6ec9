import pytest
from django.urls import reverse

from annotation.models import Role
from judging.core.rules import Level, SatisfactionSettings
from judging.models import RunKind, SatisfactionJudgment
from judging.services.foreground import run_to_end
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.judging.ratings import make_ratings
from tests.judging.study import start_satisfaction_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    somebody = make_user(role=Role.VIEWER)
    client.force_login(somebody)
    return somebody


@pytest.fixture
def rater():
    return make_user(username="ann", display_name="Ann")


@pytest.fixture
def dataset():
    return make_dataset()


@pytest.fixture
def run(dataset):
    return make_run(dataset, kind=RunKind.SATISFACTION, judge="lexical")


def judge_turn(run, rater, *, human, calibrated, scenario=None, **fields):
    """One rated turn and what the judge said; `calibrated` None is a reply without a score."""
    scenario = (
        scenario or run.dataset.scenarios.order_by("pk").first() or make_scenario(run.dataset)
    )
    session = make_session(scenario, task_context="a week in Dalian")
    before = make_turn(session, user_message="first of all")
    make_response(before, original=True, text="earlier answer")
    turn = make_turn(session, user_message=fields.pop("asked", "where to?"))
    response = make_response(turn, original=True, text="answer *with* markup")
    if human is not None:
        make_rating(
            response, annotator=rater, score=human, reason="UNUSABLE" if human < 4 else None
        )
    if calibrated is None:
        fields = {"status": "UNPARSEABLE", "error_code": "score:unparseable"} | fields
    else:
        fields = {"status": "DONE", "score": calibrated, "calibrated": calibrated} | fields
    return SatisfactionJudgment.objects.create(run=run, user=rater, response=response, **fields)


def list_of(run, **parameters):
    return reverse("judging:run-turns", args=[run.pk], query=parameters)


def turn_of(row):
    return reverse("judging:run-turn", args=[row.run_id, row.pk])


def shown(client, run, **parameters):
    """The ids of the turns that a list shows, in order."""
    listed = client.get(list_of(run, **parameters)).context["listed"]
    return [row.id for row in listed.rows]


def test_the_users_score_stands_beside_the_judges(client, reader, run, rater):
    judge_turn(run, rater, human=2, calibrated=4, expected_score=3.75, asked="where to go?")
    page = client.get(list_of(run)).content.decode()
    assert "where to go?" in page
    assert "Ann" in page
    assert '<td class="n">2</td>' in page
    assert '<span class="strong">4</span>' in page
    assert "3.75" in page


def test_filters(client, reader, run, rater):
    make_scenario(run.dataset)
    other, gifts = make_user(), make_scenario(run.dataset)
    missed = judge_turn(run, rater, human=3, calibrated=5)
    alarm = judge_turn(run, other, human=5, calibrated=3)
    same = judge_turn(run, rater, human=4, calibrated=4, scenario=gifts)
    lost = judge_turn(run, rater, human=4, calibrated=None)
    every = [missed.pk, alarm.pk, same.pk, lost.pk]
    assert shown(client, run) == every
    assert shown(client, run, show="apart") == [missed.pk, alarm.pk]
    assert shown(client, run, show="missed") == [missed.pk]
    assert shown(client, run, show="false-alarm") == [alarm.pk]
    assert shown(client, run, show="without") == [lost.pk]
    assert shown(client, run, user=other.pk) == [alarm.pk]
    assert shown(client, run, scenario=gifts.pk) == [same.pk]
    assert shown(client, run, user="x", scenario="-1", show="?", sort="?", page="x") == every


def test_the_widest_apart_come_first_on_request(client, reader, run, rater):
    near = judge_turn(run, rater, human=4, calibrated=5)
    lost = judge_turn(run, rater, human=4, calibrated=None)
    wide = judge_turn(run, rater, human=1, calibrated=5)
    assert shown(client, run, sort="apart") == [wide.pk, near.pk, lost.pk]


def test_a_label_taken_back_and_a_repeat(client, reader, run, rater):
    gone = judge_turn(run, rater, human=None, calibrated=4)
    kept = judge_turn(run, rater, human=2, calibrated=2)
    make_rating(kept.response, annotator=rater, score=5, repeat_index=1)
    rows = client.get(list_of(run)).context["listed"].rows
    assert [(row.id, row.human) for row in rows] == [(gone.pk, None), (kept.pk, 2)]
    assert shown(client, run, show="apart") == []


def test_a_run_of_many_turns_costs_as_many_queries(
    client, reader, run, rater, django_assert_num_queries
):
    for _ in range(7):
        judge_turn(run, rater, human=3, calibrated=4)
    with django_assert_num_queries(7):  # session, reader, run, count, rows, users, scenarios
        client.get(list_of(run))


def test_nothing_to_show(client, reader, run):
    assert "No matching turns" in client.get(list_of(run)).content.decode()


def test_one_turn_with_what_the_judge_read(client, reader, run, rater):
    row = judge_turn(
        run, rater, human=2, calibrated=3, reason="INSUFFICIENT_DETAIL", analysis="Too short."
    )
    page = client.get(turn_of(row)).content.decode()
    for text in ("first of all", "earlier answer", "where to?", "answer <em>with</em> markup"):
        assert text in page
    assert "Unusable in practice" in page
    assert "Not enough detail" in page
    assert "Too short." in page
    assert "a week in Dalian" in page


def test_a_reply_without_a_score_is_shown_with_its_reason(client, reader, run, rater):
    row = judge_turn(run, rater, human=4, calibrated=None, raw="six of <b>five</b>")
    page = client.get(turn_of(row)).content.decode()
    assert "The reply contains no usable score" in page
    assert "six of &lt;b&gt;five&lt;/b&gt;" in page


def test_a_turn_whose_label_was_taken_back_is_still_shown(client, reader, run, rater):
    row = judge_turn(run, rater, human=None, calibrated=4)
    page = client.get(turn_of(row)).content.decode()
    assert "rating withdrawn" in page
    assert "answer <em>with</em> markup" in page


def test_a_turn_costs_as_many_queries_as_its_block(
    client, reader, run, rater, django_assert_num_queries
):
    row = judge_turn(run, rater, human=2, calibrated=3)
    with django_assert_num_queries(9):  # session, reader, run, turn, and five of the block
        client.get(turn_of(row))


def test_annotators_see_none_of_it(client, run, rater):
    row = judge_turn(run, rater, human=2, calibrated=3)
    client.force_login(rater)
    assert client.get(list_of(run)).status_code == 403
    assert client.get(turn_of(row)).status_code == 403


def test_strangers_are_sent_to_sign_in(client, run):
    assert client.get(list_of(run)).url.startswith(reverse("sign-in"))


def test_other_runs_and_other_turns_do_not_exist(client, reader, run, rater):
    row = judge_turn(run, rater, human=2, calibrated=3)
    other = make_run(run.dataset, kind=RunKind.SATISFACTION)
    assert client.get(reverse("judging:run-turn", args=[other.pk, row.pk])).status_code == 404
    assert client.get(list_of(make_run(run.dataset))).status_code == 404
    assert client.get(reverse("judging:run-turns", args=[0])).status_code == 404


def test_wrong_methods(client, reader, run, rater):
    row = judge_turn(run, rater, human=2, calibrated=3)
    assert client.post(list_of(run)).status_code == 405
    assert client.post(turn_of(row)).status_code == 405


def test_remarks_have_a_column_only_where_there_are_some(client, reader, run, rater):
    judge_turn(run, rater, human=2, calibrated=4)
    page = client.get(list_of(run)).content.decode()
    assert "<b>Bold</b>: the calibrated score differs from the user's own." in page
    assert "<th>Note</th>" not in page
    judge_turn(run, rater, human=2, calibrated=3, fallback_reason="USER_HISTORY")
    assert "<th>Note</th>" in client.get(list_of(run)).content.decode()
    SatisfactionJudgment.objects.update(fallback_reason="")
    assert "<th>Note</th>" not in client.get(list_of(run)).content.decode()
    judge_turn(run, rater, human=2, calibrated=None)
    assert "<th>Note</th>" in client.get(list_of(run)).content.decode()


def test_figures_lead_to_turns_of_certain_scores(client, reader, run, rater):
    seen = judge_turn(run, rater, human=3, calibrated=4, score=5)
    raw_alone = judge_turn(run, rater, human=2, calibrated=4)
    SatisfactionJudgment.objects.filter(pk=raw_alone.pk).update(
        calibrated=None, fallback_reason="SHORT_HISTORY"
    )
    assert shown(client, run, stated="3") == [seen.pk]
    assert shown(client, run, raw="5") == [seen.pk]
    assert shown(client, run, calibrated="4") == [seen.pk, raw_alone.pk]
    assert shown(client, run, fallback="SHORT_HISTORY") == [raw_alone.pk]
    assert shown(client, run, stated="9", fallback="?") == [seen.pk, raw_alone.pk]
    page = client.get(list_of(run, calibrated="4", stated="3")).content.decode()
    assert "3 by the user" in page
    assert "4 by the judge, calibrated" in page
    assert "Show all turns" in page
    assert "Only turns with" not in client.get(list_of(run)).content.decode()


@pytest.fixture
def of_sessions():
    """A run over whole conversations."""
    dataset = make_ratings(people=2, sessions=True)
    settings = SatisfactionSettings(level=Level.SESSION)
    started = start_satisfaction_run(dataset=dataset, judge="lexical", settings=settings)
    return run_to_end(started.pk)


def test_whole_conversations_stand_beside_their_judgments(client, reader, of_sessions):
    listed = client.get(list_of(of_sessions)).context["listed"]
    assert len(listed.rows) == 20
    assert {row.position for row in listed.rows} == {None}
    assert len(listed.scenarios) == 2
    row = SatisfactionJudgment.objects.filter(run=of_sessions).order_by("pk").first()
    first = listed.rows[0]
    assert (first.id, first.session) == (row.pk, row.session.key)
    assert first.request == row.session.turns.get().user_message
    assert first.human == row.session.labels.get().score
    page = client.get(turn_of(row)).content.decode()
    assert "the whole conversation" in page
    assert row.session.turns.get().responses.get().text.strip()[:20] in page
    scenario = row.session.scenario_id
    assert len(shown(client, of_sessions, scenario=str(scenario))) == 10


def test_a_conversation_whose_rating_was_taken_back(client, reader, of_sessions):
    row = SatisfactionJudgment.objects.filter(run=of_sessions).first()
    row.session.labels.all().delete()
    assert "rating withdrawn" in client.get(turn_of(row)).content.decode()
