from __future__ import annotations

import csv
import io
import re

import pytest
from django.utils import timezone

from annotation.models import SessionQuestionnaire, Study
from annotation.services.datasets import state_sampling
from benchmark.core.model_satisfaction import answer_name
from judging.models import RunUnit, SatisfactionJudgment
from tests.factory import (
    make_claim,
    make_dataset,
    make_item,
    make_rater,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

PAGE, ROWS, CSV = (
    "/leaderboard/satisfaction/",
    "/leaderboard/satisfaction/rows/",
    "/leaderboard/satisfaction.csv",
)
ADDRESSES = (PAGE, ROWS, CSV)
QUESTION = {"query": "How detailed?", "summary": "Detail"}


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def text(answer):
    return " ".join(answer.content.decode().split())


def ratings(users=12, *, study=None, dataset=None):
    """Each user rates a talk with alpha (5, 4) in Trips and one with beta (2, 4) in Food."""
    dataset = dataset or make_dataset(slug="talks", name="Talks")
    topics = {name: make_scenario(dataset, name=name) for name in ("Trips", "Food")}
    for number in range(users):
        user = make_rater(dataset, f"u{number:02}")
        for model, topic, scores in (("alpha", "Trips", (5, 4)), ("beta", "Food", (2, 4))):
            session = make_session(topics[topic])
            for score in scores:
                response = make_response(make_turn(session), model=model, original=True)
                make_rating(
                    response,
                    annotator=user,
                    score=score,
                    study=study,
                    reason="UNUSABLE" if score < 4 else None,
                    hallucination="YES" if score == 2 else "NO",
                )
            option = "Brief" if model == "beta" and number % 3 else "Detailed"
            SessionQuestionnaire.objects.create(
                annotator=user,
                session=session,
                study=study,
                answers=[QUESTION | {"option": option}],
            )
    return dataset


def scored(dataset, *, score=4, judge="lexical", users=None):
    """A finished run that gives every rated answer of some users the same score."""
    run = make_run(
        dataset, kind="SATISFACTION", judge=judge, status="DONE", config={"variant": "x"}
    )
    for session in dataset.sessions.all():
        for turn in session.turns.all():
            for response in turn.responses.all():
                for label in response.labels.all():
                    SatisfactionJudgment.objects.create(
                        run=run, user=label.annotator, response=response, status="DONE", score=score
                    )
    return run


def models(answer):
    return {row.model: row for row in answer.context["board"].models}


def test_strangers_sign_in_first(client):
    for address in ADDRESSES:
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind_to_models(client):
    ratings(1)
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(each).status_code for each in ADDRESSES] == [403] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in ADDRESSES] == [405] * 3


def test_without_ratings_the_page_says_what_it_needs(viewer):
    make_dataset(slug="bare")
    assert "No ratings of named models yet" in text(viewer.get(PAGE))
    # The leaderboard of a dataset of comparisons leads here too.
    assert "No ratings of named models yet" in text(viewer.get(PAGE + "?dataset=bare"))
    assert viewer.get(PAGE + "?dataset=gone").status_code == 404
    assert viewer.get(PAGE + "?study=none").status_code == 404
    assert viewer.get(ROWS + "?model=alpha").status_code == 404
    assert viewer.get(CSV).content.strip() == b""


def test_people_s_ratings_by_model(viewer, django_assert_max_num_queries):
    ratings()
    with django_assert_max_num_queries(16):
        answer = viewer.get(PAGE)
    alpha, beta = (models(answer)[name] for name in ("alpha", "beta"))
    assert (alpha.mean.value, alpha.mean.rows, alpha.mean.units.number) == (4.5, 24, 12)
    assert (beta.mean.value, beta.dissatisfied.value, beta.made_up.value) == (3.0, 0.5, 0.5)
    assert dict(beta.reasons) == {"UNUSABLE": 12}
    [pair] = answer.context["board"].mean_differences
    assert (pair.first, pair.value, pair.both, pair.users) == ("alpha", 1.5, 12, 12)
    page = text(answer)
    assert "alpha minus beta" in page
    assert "Mean score by scenario" in page
    assert "How detailed were the individual suggestions" in page
    assert "Evaluator" not in page  # there is none


def test_a_scenario_narrows_it_and_one_of_another_dataset_means_nothing(viewer):
    dataset = ratings()
    food = dataset.scenarios.get(name="Food").pk
    assert set(models(viewer.get(f"{PAGE}?scenario={food}"))) == {"beta"}
    assert "Mean score by scenario" not in text(viewer.get(f"{PAGE}?scenario={food}"))
    asked = f"{PAGE}?dataset=talks&was_dataset=other&scenario=999&run=7"
    assert set(models(viewer.get(asked))) == {"alpha", "beta"}
    assert viewer.get(f"{PAGE}?scenario=999").status_code == 404
    assert viewer.get(f"{PAGE}?run=999").status_code == 404
    assert viewer.get(f"{PAGE}?voice=mine").status_code == 404


def test_every_number_leads_to_its_answers(viewer):
    ratings()
    page = viewer.get(PAGE).content.decode()
    assert f"{ROWS}?model=beta&amp;show=UNUSABLE" in page
    assert f'{ROWS}?model=beta&amp;show=asked">n 24</a>' in page
    for asked, n in (
        ("model=beta", 24),
        ("model=beta&show=dissatisfied", 12),
        ("model=beta&show=satisfied", 12),
        ("model=beta&show=made-up", 12),
        ("model=beta&show=asked", 24),
        ("model=beta&show=UNUSABLE", 12),
        ("model=beta&show=OTHER", 0),
        ("model=beta&show=labelled", 24),
        ("model=beta&topic=Trips", 0),
        ("model=beta&topic=Food", 24),
    ):
        assert viewer.get(f"{ROWS}?{asked}").context["page"].paginator.count == n, asked
    rows = text(viewer.get(f"{ROWS}?model=beta&show=UNUSABLE"))
    assert "Unusable in practice · 12 answers" in rows
    assert "u00" in rows
    assert viewer.get(f"{ROWS}?model=nobody").status_code == 404
    assert viewer.get(ROWS).status_code == 404


def test_answers_about_conversations_lead_to_those(viewer):
    ratings()
    page = viewer.get(PAGE).content.decode()
    for option, n in (("Brief", 8), ("Detailed", 4)):
        address = f"{ROWS}?model=beta&answer={answer_name('Detail', option)}"
        assert address.replace("&", "&amp;") in page
        assert len(viewer.get(address).context["answered"]) == n
    assert viewer.get(f"{ROWS}?model=beta&answer=0").status_code == 404


def test_a_question_of_any_length_leads_to_its_answers_a_page_at_a_time(viewer):
    session = make_session(make_scenario(make_dataset()))
    make_rating(make_response(make_turn(session), model="alpha", original=True))
    long = {"summary": "How " * 200, "query": "?", "option": "Well " * 200}
    for _ in range(51):
        SessionQuestionnaire.objects.create(annotator=make_user(), session=session, answers=[long])
    [address] = re.findall(ROWS + r"[^\"]*answer=[^\"]*", viewer.get(PAGE).content.decode())
    answer = viewer.get(address.replace("&amp;", "&") + "&page=2")
    assert (len(answer.context["answered"]), answer.context["page"].paginator.count) == (1, 51)
    assert long["option"] in answer.content.decode()


def test_an_evaluator_s_scores_are_said_to_be_its_own(viewer):
    dataset = ratings()
    run = scored(dataset)
    address = f"{PAGE}?dataset=talks&run={run.pk}&voice=judge"
    assert address.replace("&", "&amp;") in viewer.get(f"/runs/{run.pk}/").content.decode()
    page = text(viewer.get(PAGE + "?voice=judge"))
    assert "Scores by lexical on the users' behalf" in page
    assert f'href="/runs/{run.pk}/"' in page
    found = models(viewer.get(PAGE + "?voice=judge"))
    assert {row.mean.value for row in found.values()} == {4.0}
    assert "made-up facts" not in page
    newer = scored(dataset, score=2)
    assert viewer.get(PAGE + "?voice=judge").context["board"].run.id == newer.pk
    asked = viewer.get(f"{PAGE}?voice=judge&run={run.pk}")
    assert {row.mean.value for row in models(asked).values()} == {4.0}


def test_answers_that_an_evaluator_gave_no_score_are_counted(viewer):
    dataset = ratings()
    run = scored(dataset)
    assert "no score" not in text(viewer.get(f"{PAGE}?voice=judge"))
    lost = SatisfactionJudgment.objects.filter(run=run).order_by("pk")[:5]
    for row in lost:
        row.status, row.score, row.error_code = "UNPARSEABLE", None, "score:unparseable"
        row.save()
    asked = SatisfactionJudgment.objects.filter(run=run).count()
    for voice in ("judge", "corrected"):
        answer = viewer.get(f"{PAGE}?voice={voice}")
        assert f"5 of {asked} answers have no score: replies of lexical" in text(answer)
    scenarios = dataset.scenarios.order_by("pk")
    narrowed = [
        viewer.get(f"{PAGE}?voice=judge&scenario={each.pk}").context["board"] for each in scenarios
    ]
    assert [sum(getattr(board, name) for board in narrowed) for name in ("unscored", "asked")] == [
        5,
        asked,
    ]
    assert "no score" not in text(viewer.get(f"{PAGE}?voice=people"))


def test_scores_that_a_replay_took_are_not_those_to_begin_with(viewer):
    dataset = ratings()
    run, step = scored(dataset), scored(dataset, score=2)
    replay = make_run(dataset, kind="REPLAY", judge="lexical", status="DONE")
    RunUnit.objects.create(run=replay, position=0, name="score", plan={}, child=step)
    assert viewer.get(PAGE + "?voice=judge").context["board"].run.id == run.pk
    asked = viewer.get(f"{PAGE}?voice=judge&run={step.pk}")
    assert asked.context["board"].run.id == step.pk


def test_scores_of_what_nobody_rated_stand_alone(viewer):
    dataset = make_dataset(slug="scored")
    response = make_response(make_turn(make_session(make_scenario(dataset))), model="alpha")
    run = make_run(dataset, kind="SATISFACTION", judge="lexical", status="DONE")
    judged = {"run": run, "user": make_user(), "response": response, "status": "DONE"}
    SatisfactionJudgment.objects.create(**judged, score=5, calibrated=3, reason="OTHER")
    board = viewer.get(PAGE).context["board"]
    assert (board.voice, board.models[0].mean.value) == ("judge", 3.0)
    assert dict(board.models[0].reasons) == {"OTHER": 1}


def test_corrected_figures_stand_beside_both(viewer):
    dataset = ratings()
    scored(dataset)
    answer = viewer.get(PAGE + "?voice=corrected")
    found = {row.model: row for row in answer.context["board"].corrected}
    beta = found["beta"].mean
    assert (beta.human.value, beta.judge.value) == (3.0, 4.0)
    assert beta.corrected.value == pytest.approx(3.0)
    assert "Everything that the judge scored is labelled." in text(answer)
    rows = f"{ROWS}?voice=corrected&amp;model=beta"
    assert f"{rows}&amp;show=labelled" in answer.content.decode()
    assert viewer.get(rows.replace("&amp;", "&")).context["page"].paginator.count == 24


@pytest.mark.parametrize(
    ("expected", "calibrated", "value"), [(4.25, None, 4.25), (4.25, 2, 2.0), (None, None, 4.0)]
)
def test_scores_that_were_not_calibrated_correct_unrounded(viewer, expected, calibrated, value):
    dataset = ratings()
    rows = scored(dataset).satisfaction_judgments
    rows.update(expected_score=expected, calibrated=calibrated)
    answer = viewer.get(PAGE + "?voice=corrected")
    found = {row.model: row for row in answer.context["board"].corrected}
    assert found["beta"].mean.judge.value == value


def test_unrated_turns_are_corrected_for_only_where_ratings_are_random(viewer):
    dataset = ratings()
    scored(dataset)
    for label in dataset.sessions.last().turns.first().responses.get().labels.all():
        label.delete()
    answer = viewer.get(PAGE + "?voice=corrected")
    assert answer.context["board"].labels.is_random is False
    assert answer.context["board"].mean_differences == ()
    assert "not known to be a random part" in text(answer)
    state_sampling(dataset="talks", statement="By lot.", by=None, now=timezone.now())
    told = viewer.get(PAGE + "?voice=corrected")
    assert told.context["board"].corrected[0].mean.corrected is not None
    assert "“By lot.”" in text(told)


def test_the_beginning_of_a_study_corrects_and_other_ratings_do_not(viewer):
    dataset = make_dataset(slug="talks")
    study = make_study(dataset, kind="SATISFACTION", name="Pilot", selection={"sample": 40})
    ratings(40, study=study, dataset=dataset)
    Study.objects.update(newest_target=dataset.sessions.last().pk)
    scored(dataset)
    person = make_user()
    for place, session in enumerate(dataset.sessions.order_by("pk")):
        item = make_item(study, session=session)
        if place != 60:
            make_claim(item, person, state="DONE")
    for label in dataset.sessions.order_by("pk")[60].turns.first().responses.get().labels.all():
        label.delete()
    board = viewer.get(PAGE + "?voice=corrected").context["board"]
    assert sum(row.mean.labels for row in board.corrected) == 120
    assert (board.labels.studies, board.labels.left_out) == (("Pilot",), 39)


def test_whole_conversations_are_compared_where_those_were_rated(viewer):
    dataset = make_dataset(slug="whole")
    topic = make_scenario(dataset)
    for number in range(3):
        session = make_session(topic)
        for model in ("alpha", "beta" if number == 2 else "alpha"):
            make_response(make_turn(session), model=model, original=True)
        make_rating(
            session=session,
            annotator=make_user(),
            score=number + 3,
            reason=None if number else "OTHER",
        )
    board = viewer.get(PAGE).context["board"]
    # A conversation with two models is neither's.
    assert (board.whole, board.unnamed, board.models[0].mean.value) == (True, 1, 3.5)
    assert "1 score is not counted" in text(viewer.get(PAGE))
    rows = viewer.get(ROWS + "?model=alpha").context["rows"]
    assert [row["reason"] for row in rows] == ["Other", ""]
    run = make_run(dataset, kind="SATISFACTION", judge="lexical", status="DONE")
    judged = {"run": run, "user": make_user(), "session": session, "status": "DONE"}
    SatisfactionJudgment.objects.create(**judged, score=5)
    assert viewer.get(PAGE + "?voice=judge").context["board"].unnamed == 1


@pytest.mark.parametrize("whole", [True, False])
def test_ratings_of_another_kind_than_the_scores_say_so(viewer, whole):
    session = make_session(make_scenario(make_dataset()))
    response, user = make_response(make_turn(session), model="alpha", original=True), make_user()
    make_rating(None if whole else response, **({"session": session} if whole else {}))
    run = make_run(session.dataset, kind="SATISFACTION", judge="lexical", status="DONE")
    scored_of = {"response": response} if whole else {"session": session}
    SatisfactionJudgment.objects.create(run=run, user=user, status="DONE", score=4, **scored_of)
    answer = viewer.get(PAGE + "?voice=corrected")
    [row] = answer.context["board"].corrected
    assert (row.mean.obstacle, row.mean.missing) == ("OTHER_TARGETS", 0)
    told = "People rated whole conversations" if whole else "People rated turns"
    assert told in text(answer)
    assert "more needed" not in text(answer)


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ("models", {"model": "alpha", "mean": "4.5", "users": "12", "voice": "people"}),
        ("scenarios", {"model": "alpha", "scenario": "Trips", "answers": "24"}),
        ("differences", {"figure": "mean", "first": "alpha", "difference": "1.5"}),
        ("questions", {"question": "Detail", "model": "alpha", "option": "Detailed", "n": "12"}),
    ],
)
def test_each_table_is_a_file(viewer, table, first):
    ratings()
    rows = csv.DictReader(io.StringIO(viewer.get(f"{CSV}?table={table}").content.decode()))
    found = next(rows)
    assert {name: found[name] for name in first} == first


def test_corrected_figures_are_a_file(viewer):
    scored(ratings())
    told = viewer.get(f"{CSV}?voice=corrected").content.decode()
    rows = list(csv.DictReader(io.StringIO(told)))
    assert [(row["model"], row["figure"]) for row in rows[:2]] == [
        ("alpha", "mean"),
        ("alpha", "dissatisfied"),
    ]
    assert viewer.get(f"{CSV}?table=none").status_code == 404


def test_a_new_rating_is_counted_at_once(viewer):
    dataset = ratings()
    assert models(viewer.get(PAGE))["beta"].mean.rows == 24
    turn = make_turn(dataset.sessions.last())
    make_rating(make_response(turn, model="beta"), score=5)
    answer = viewer.get(PAGE)
    assert (models(answer)["beta"].mean.rows, answer.context["kept"].as_of) == (25, None)


def test_a_result_says_of_when_it_is_and_a_file_is_never_behind(viewer, monkeypatch):
    dataset = ratings()
    study = make_study(dataset, kind="SATISFACTION", slug="pilot", status="CLOSED")
    monkeypatch.setattr("benchmark.queries.kept._LONG_SECONDS", 0)
    address, headers = f"{PAGE}?study=pilot", {"HX-Request": "true"}
    viewer.get(address, headers=headers)
    turn = make_turn(dataset.sessions.last())
    make_rating(make_response(turn, model="beta"), score=5, study=study)
    assert "Figures as of" in text(viewer.get(address, headers=headers))
    assert b"beta" in viewer.get(f"{CSV}?study=pilot").content


def test_htmx_gets_the_part_it_asks_for(viewer):
    ratings()
    part = text(viewer.get(PAGE, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert "<html" not in part
    assert "Differences" in part


def test_a_closed_study_shows_its_result_first(client):
    dataset = make_dataset(slug="talks")
    study = make_study(dataset, kind="SATISFACTION", slug="pilot", status="CLOSED")
    ratings(12, study=study, dataset=dataset)
    make_rating(
        make_response(dataset.sessions.first().turns.first(), model="gamma"),
        score=1,
        reason="OTHER",
    )
    client.force_login(make_user(role="MANAGER"))
    page = text(client.get("/studies/pilot/"))
    address = f"{PAGE}?study=pilot"
    assert page.index(f'hx-get="{address}"') < page.index('class="tabs"')
    part = client.get(address, headers={"HX-Request": "true"})
    assert set(models(part)) == {"alpha", "beta"}  # gamma was rated outside it
    assert "Result: satisfaction by model" in text(part)
    whole = client.get(address)
    assert 'name="study" value="pilot"' in text(whole)
    study.status = "OPEN"
    study.save()
    assert address not in text(client.get("/studies/pilot/"))


def test_a_closed_study_without_ratings_says_so(viewer):
    dataset = ratings(1)
    scored(dataset)
    make_study(dataset, kind="SATISFACTION", slug="pilot", status="CLOSED")
    part = viewer.get(f"{PAGE}?study=pilot", headers={"HX-Request": "true"})
    assert "No answer of a named model was rated in this study." in text(part)


def test_a_study_of_a_dataset_without_any_rating_or_score_says_so(viewer):
    make_study(make_dataset(), kind="SATISFACTION", slug="pilot", status="CLOSED")
    part = viewer.get(f"{PAGE}?study=pilot", headers={"HX-Request": "true"})
    assert "No answer of a named model" in text(part)


def test_a_closed_study_of_pairs_leads_to_the_leaderboard(viewer):
    make_study(make_dataset(slug="pairs"), slug="pilot", status="CLOSED")
    assert 'href="/leaderboard/?dataset=pairs"' in text(viewer.get("/studies/pilot/"))
