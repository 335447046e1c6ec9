from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest

from annotation.models import Response
from judging.models import ResponseScore, RunKind, RunStatus
from tests.benchmark.stage import Stage
from tests.factory import make_response, make_run, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

PAGE, ROWS, CSV = "/leaderboard/grades/", "/leaderboard/grades/rows/", "/leaderboard/grades.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def grade(dataset, values, **fields):
    """A finished run of grades, in the order of the responses; None is an unreadable reply."""
    asked = {"kind": RunKind.GRADE, "status": RunStatus.DONE, "judge": "gpt-4"}
    run = make_run(dataset, config={"prompt": "SINGLE"}, **asked | fields)
    responses = Response.objects.filter(turn__session__dataset=dataset).order_by("pk")
    for response, value in zip(responses, values, strict=False):
        status = "UNPARSEABLE" if value is None else "DONE"
        code = "score:unparseable" if value is None else ""
        ResponseScore.objects.create(
            run=run,
            response=response,
            scale="1-10",
            value=value,
            status=status,
            error_code=code,
            raw=f"[[{value}]]",
        )
    return run


def study():
    """Two scenarios of two sessions: alpha 9, 8; none, 7; beta 5, 4; 3, 2."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=2)
    return stage, grade(stage.dataset, [9, 5, 8, 4, None, 3, 7, 2])


def test_strangers_sign_in_first(client):
    for address in (PAGE, ROWS, CSV):
        assert client.get(address).url == f"/sign-in/?next={address}"


def test_annotators_stay_blind_to_models(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(each).status_code for each in (PAGE, CSV, f"{ROWS}?model=alpha")] == [
        403
    ] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in (PAGE, ROWS, CSV)] == [405] * 3


def test_without_grades_the_page_says_what_will_appear(viewer):
    Stage.make()
    assert "No grades yet" in one_line(viewer.get(PAGE))
    page = one_line(viewer.get(f"{PAGE}?dataset=study"))
    assert "No grades yet" in page
    assert "Export CSV" not in page
    assert viewer.get(CSV).content == b"\r\n"
    assert viewer.get(f"{ROWS}?model=alpha").status_code == 404


def test_models_stand_by_their_mean_grade(viewer):
    _stage, run = study()
    page = one_line(viewer.get(PAGE))
    # alpha: (9 + 8 + 7) / 3; beta: (5 + 4 + 3 + 2) / 4.
    assert page.index(">8.00</a>") < page.index(">3.50</a>")
    assert "too few" in page
    assert "Mean grade by scenario" in page
    assert "<title>alpha: mean grade 8.50</title>" in page
    assert "Grades from 1 to 10" in page
    assert f"/runs/{run.pk}/" in page
    assert "turn 1" not in page  # of one turn alone nothing is told twice


def test_every_number_leads_to_its_responses(viewer):
    _stage, run = study()
    page = viewer.get(PAGE).content.decode()
    address = f"{ROWS}?dataset=study&run={run.pk}&model=alpha"
    assert address.replace("&", "&amp;") in page
    rows = one_line(viewer.get(address))
    assert "4 responses" in rows
    assert rows.count("<tr>") == 5
    assert "Write a note to my landlord." in rows
    unreadable = one_line(viewer.get(f"{address}&show=UNPARSEABLE"))
    assert "1 response" in unreadable
    assert "[[None]]" in unreadable
    assert "2 responses" in one_line(viewer.get(f"{address}&scenario=Code"))
    assert "3 responses" in one_line(viewer.get(f"{address}&show=DONE"))
    assert "0 responses" in one_line(viewer.get(f"{address}&turn=2"))


def test_turns_have_columns_and_unnamed_models_are_told(viewer):
    stage, run = study()
    for name, value in (("alpha", 2.5), ("", 9.0)):
        session = stage.comparisons["Code"][0].turn.session
        turn = session.turns.create(position=session.turns.count(), user_message="And then?")
        response = make_response(turn, model=name, text="So.")
        ResponseScore.objects.create(
            run=run, response=response, scale="1-10", value=value, status="DONE"
        )
    page = one_line(viewer.get(PAGE))
    assert "turn 2" in page
    assert ">2.50</a>" in page
    assert "1 response is not counted: its model is unknown." in page


def test_grades_of_no_named_model_are_told(viewer):
    study()
    Response.objects.update(model="")
    assert "8 responses are not counted" in one_line(viewer.get(PAGE))


def test_the_newest_run_is_shown_and_another_can_be_chosen(viewer):
    stage, old = study()
    new = grade(stage.dataset, [1, 1, 1, 1, 1, 1, 1, 1], judge="other")
    assert ">8.00</a>" in one_line(viewer.get(f"{PAGE}?run={old.pk}"))
    assert f'value="{new.pk}" selected' in one_line(viewer.get(PAGE))


def test_after_the_dataset_was_changed_the_file_is_of_the_run_shown(viewer):
    _stage, old = study()
    other = Stage.make(slug="other", name="Other")
    new = grade(other.dataset, [3, 3, 3, 3, 3, 3, 3, 3])
    page = viewer.get(f"{PAGE}?was_dataset=study&dataset=other&run={old.pk}").content.decode()
    (address,) = re.findall(rf'href="({re.escape(CSV)}[^"]*)"', page)
    rows = list(csv.DictReader(io.StringIO(viewer.get(unescape(address)).content.decode())))
    assert {row["run"] for row in rows} == {str(new.pk)}


def test_the_figures_come_as_a_file(viewer):
    _stage, run = study()
    rows = list(csv.DictReader(io.StringIO(viewer.get(CSV).content.decode())))
    assert [(row["model"], row["turn"], row["scenario"], row["mean"]) for row in rows[:4]] == [
        ("alpha", "", "", "8.0"),
        ("alpha", "1", "", "8.0"),
        ("alpha", "", "Writing", "8.5"),
        ("alpha", "", "Code", "7.0"),
    ]
    assert {(row["judge"], row["run"]) for row in rows} == {("gpt-4", str(run.pk))}
    assert (rows[0]["grades"], rows[0]["sessions"], rows[0]["unreadable"]) == ("3", "3", "1")


def test_to_htmx_the_figures_alone_are_sent(viewer):
    study()
    part = one_line(viewer.get(PAGE, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert "Mean grade" in part
    assert "<html" not in part


@pytest.mark.parametrize("query", ["dataset=nope", "run=999", "run=x"])
def test_what_is_not_there_is_not_found(viewer, query):
    study()
    addresses = (f"{PAGE}?{query}", f"{CSV}?{query}", f"{ROWS}?model=alpha&{query}")
    assert [viewer.get(each).status_code for each in addresses] == [404] * 3
    assert viewer.get(f"{ROWS}?model=nobody").status_code == 404


def test_a_graded_run_leads_to_its_figures(viewer):
    _stage, run = study()
    assert f"{PAGE}?dataset=study&amp;run={run.pk}" in one_line(viewer.get(f"/runs/{run.pk}/"))


def test_a_run_of_another_scale_has_no_grades(viewer):
    _stage, run = study()
    ResponseScore.objects.update(scale="reward")
    assert "No grades yet" in one_line(viewer.get(PAGE))
    assert viewer.get(f"{PAGE}?dataset=study&run={run.pk}").status_code == 404


def test_the_page_costs_few_queries(viewer, django_assert_max_num_queries):
    study()
    with django_assert_max_num_queries(16):
        viewer.get(PAGE)
    with django_assert_max_num_queries(14):
        viewer.get(f"{ROWS}?model=alpha")
