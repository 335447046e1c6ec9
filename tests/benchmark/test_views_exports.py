from __future__ import annotations

import csv
import io

import pytest
from django.conf import settings

from annotation.models import User
from judging.services.foreground import run_to_end
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.benchmark.stage import Stage
from tests.factory import make_user
from tests.judging.study import start_satisfaction_run

pytestmark = pytest.mark.django_db

FIGURES = "/trust/figures.csv"
AGREEMENT = "/trust/agreement.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(*, scenario="Writing"):
    stage = Stage.make(scenarios=(scenario, "Code"), size=4)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "ABAB" + "AAAA")
    stage.label(bob, "ABAB" + "....")
    stage.tested(ann, stage.distilled(ann), base="AAAA" * 2, selected="ABAA" + "AAAA")
    stage.tested(bob, stage.distilled(bob), base="BBBB....", selected="ABAB....")
    return stage, ann, bob


def records(answer):
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_strangers_sign_in_first(client):
    for address in (FIGURES, AGREEMENT):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_exports_are_only_read(viewer):
    assert [viewer.post(address).status_code for address in (FIGURES, AGREEMENT)] == [405, 405]


def test_the_figures_of_one_annotator_have_a_row_a_scenario(viewer):
    _stage, ann, _bob = study()
    answer = viewer.get(f"{FIGURES}?annotator={ann.pk}")
    assert answer["Content-Disposition"] == 'attachment; filename="figures.csv"'
    rows = records(answer)
    assert [(row["scenario"], row["n"], row["base"], row["selected"]) for row in rows] == [
        ("Writing", "4", "0.5", "0.75"),
        ("Code", "4", "1.0", "1.0"),
        ("", "8", "0.75", "0.875"),
    ]


def test_each_row_says_what_it_is_of(viewer):
    stage, ann, _bob = study()
    code = stage.scenarios[1].pk
    address = f"{FIGURES}?annotator={ann.pk}&scenario={code}&policy=WRONG"
    (row,) = records(viewer.get(address))
    said = ("dataset", "judge", "filter_scenario", "policy", "seed", "version")
    assert [row[name] for name in said] == [
        "study", "lexical", "Code", "WRONG", "42", settings.APP_VERSION
    ]  # fmt: skip
    run = viewer.get(f"/trust/?annotator={ann.pk}").context["scope"].run.id
    assert row["run"] == str(run)


def test_the_controls_of_the_chart_are_a_file_of_their_own(viewer):
    _stage, ann, _bob = study()
    answer = viewer.get(f"{FIGURES}?annotator={ann.pk}&table=controls")
    assert answer["Content-Disposition"] == 'attachment; filename="controls.csv"'
    rows = records(answer)
    assert ("Writing", "base", "4", "0.5") in {
        (row["scenario"], row["control"], row["n"], row["value"]) for row in rows
    }
    assert {row["dataset"] for row in rows} == {"study"}


def test_scores_of_turns_are_a_file_of_their_own(viewer):
    dataset = make_rated_dataset("rated")
    run = run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)
    ann = User.objects.get(username="rated:ann")
    address = f"/trust/?dataset=rated&annotator={ann.pk}"
    assert "table=satisfaction" in viewer.get(address).content.decode()
    answer = viewer.get(f"{FIGURES}?dataset=rated&annotator={ann.pk}&table=satisfaction")
    rows = records(answer)
    own, everybody = ([row for row in rows if row["annotator"] == who] for who in ("ann", ""))
    assert {row["n"] for row in own if row["figure"] == "pearson"} == {"12"}
    assert [row["scale"] for row in everybody[:2]] == ["calibrated", "raw"]
    points = [row for row in everybody if row["figure"] == "mean_stated"]
    assert sum(int(row["n"]) for row in points) == 24
    assert {(row["run"], row["judge"], row["seed"]) for row in rows} == {
        (str(run.pk), "lexical", "42")
    }
    Stage.make()
    assert records(viewer.get(f"{FIGURES}?table=satisfaction&dataset=study")) == []


def test_a_table_that_is_not_there_is_told_with_those_that_are(viewer, client):
    answer = viewer.get(f"{FIGURES}?table=secrets")
    assert answer.status_code == 404
    said = "There is no such table here. In the address, table= can be: "
    assert f"{said}figures, controls, satisfaction." in answer.content.decode()
    plain = viewer.get(f"{FIGURES}?table=secrets", headers={"Accept": "text/csv"})
    assert plain.content.decode() == f"{said}figures, controls, satisfaction."
    assert "agreement, leanings." in viewer.get("/trust/judges.csv?table=x").content.decode()


def test_no_labels_are_no_rows(viewer):
    assert records(viewer.get(FIGURES)) == []


def test_every_annotator_and_scenario_make_a_wide_table(viewer):
    study()
    answer = viewer.get(f"{AGREEMENT}?dataset=study")
    assert answer["Content-Disposition"] == 'attachment; filename="agreement-study.csv"'
    rows = records(answer)
    assert [row["scenario"] for row in rows] == ["Writing", "Code", "all"]
    assert [row["ann selected"] for row in rows] == ["0.75", "1.0", "0.875"]
    # bob labelled in one scenario only, so there is nothing to take together.
    assert [row["bob selected"] for row in rows] == ["1.0", "", ""]
    assert [row["bob n"] for row in rows] == ["4", "", ""]
    assert {(row["dataset"], row["judge"], row["seed"]) for row in rows} == {
        ("study", "lexical", "42")
    }
    assert len(rows[0]["run"].split()) == 2


def test_a_dataset_without_verdicts_makes_an_empty_table(viewer):
    Stage.make()
    assert viewer.get(f"{AGREEMENT}?dataset=study").content == b"\r\n"


def test_a_scenario_named_like_a_formula_is_no_formula(viewer):
    study(scenario="=1+1")
    assert records(viewer.get(f"{AGREEMENT}?dataset=study"))[0]["scenario"] == "'=1+1"


@pytest.mark.parametrize(
    "address",
    [f"{FIGURES}?dataset=none", f"{AGREEMENT}?dataset=none", AGREEMENT, f"{FIGURES}?run=x"],
)
def test_what_is_not_there_is_not_found(viewer, address):
    assert viewer.get(address).status_code == 404


def test_an_annotator_exports_their_own_figures_alone(client):
    _stage, ann, bob = study()
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    rows = records(client.get(FIGURES))
    assert {row["annotator"] for row in rows} == {"ann"}
    assert not [name for name in rows[0] if "position_bias" in name or name == "judge"]
    assert client.get(f"{FIGURES}?table=controls").status_code == 403
    assert client.get(f"{FIGURES}?annotator={bob.pk}").status_code == 404
    assert client.get(f"{AGREEMENT}?dataset=study").status_code == 403
