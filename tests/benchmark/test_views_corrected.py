from __future__ import annotations

import csv
import io
from math import log10

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.models import Comparison, PairwiseLabel
from annotation.services.datasets import state_sampling
from judging.models import JudgeRun, Judgment
from tests.benchmark.stage import Stage
from tests.factory import make_claim, make_item, make_label, make_study, make_user
from tests.paths import shared_data

pytestmark = pytest.mark.django_db

PAGE, ROWS, CSV = (
    "/leaderboard/corrected/",
    "/leaderboard/corrected/rows/",
    "/leaderboard/corrected.csv",
)
ADDRESSES = (PAGE, ROWS, CSV)


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(size=30):
    """The base judge says B always and the set A always; people say A twice as often as B."""
    stage = Stage.make(size=size)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "AAB" * (size // 3))
    stage.label(bob, "." * (size - 2) + "TB")
    stage.tested(ann, stage.distilled(ann), base="B" * size, selected="A" * size)
    return stage


def text(answer):
    return " ".join(answer.content.decode().split())


def told(answer):
    return dict(answer.context["board"].models)


def test_strangers_sign_in_first(client):
    for address in ADDRESSES:
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind_to_models(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(each).status_code for each in ADDRESSES] == [403] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in ADDRESSES] == [405] * 3


def test_without_a_judge_there_is_nothing_to_correct(viewer):
    assert "nothing to correct" in text(viewer.get(PAGE))
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "AABB")
    assert "nothing to correct" in text(viewer.get(PAGE))
    assert "in this annotator's stead yet" in text(viewer.get(f"{PAGE}?annotator={ann.pk}"))
    assert "with learned preferences here yet" in text(viewer.get(PAGE + "?source=selected"))
    assert viewer.get(ROWS + "?model=alpha").status_code == 404
    assert viewer.get(CSV).content.strip() == b""


def test_people_judge_and_corrected_stand_side_by_side(viewer):
    study()
    alpha = told(viewer.get(PAGE))["alpha"]
    # 20 of ann's 30 labels say A; of two comparisons bob says tie and B, where she says A and B.
    # Each counts once, by the mean of its labels. Everything that the judge judged is labelled.
    assert alpha.human.value == pytest.approx(19.75 / 30)
    assert (alpha.judge.value, alpha.labels, alpha.targets) == (0.0, 30, 30)
    assert alpha.corrected.value == alpha.human.value
    page = text(viewer.get(PAGE))
    # It shares 10.25 of 30, as many as people give beta.
    assert "agrees with people on 34.2 % of 30 labelled comparisons." in page
    assert "Of all 30 verdicts of the judge, labelled or not, an estimated 34.2 % agree" in page
    assert "Everything that the judge scored is labelled." in page
    assert "65.8" in page
    heading = text(viewer.get(PAGE)).split("<h2>")[1].split("</h2>")[0]
    assert "Base judge (lexical)" in heading


def test_what_stands_in_is_held_against_its_own_annotator(viewer):
    study()
    answer = viewer.get(PAGE + "?source=selected")
    alpha = told(answer)["alpha"]
    # Bob's labels are left out: the judge stands in for ann.
    assert (alpha.labels, alpha.targets, alpha.judge.value) == (30, 30, 1.0)
    assert alpha.human.value == pytest.approx(2 / 3)


def test_a_part_that_is_not_random_is_not_corrected(viewer):
    stage = study()
    stage.comparisons["Writing"][5].labels.all().delete()
    answer = viewer.get(PAGE)
    assert told(answer)["alpha"].corrected is None
    assert answer.context["board"].ranking is None
    assert "not known to be a random part" in text(answer)
    assert "state so" not in text(answer)  # a viewer cannot


def test_a_statement_is_shown_where_it_is_relied_on(viewer, client):
    stage = study()
    stage.comparisons["Writing"][5].labels.all().delete()
    state_sampling(dataset="study", statement="By lot.", by=None, now=timezone.now())
    answer = viewer.get(PAGE)
    assert told(answer)["alpha"].corrected is not None
    assert "“By lot.”" in text(answer)
    assert "by a command" in text(answer)


def test_managers_are_led_to_the_mend(client):
    stage = study()
    stage.comparisons["Writing"][5].labels.all().delete()
    client.force_login(make_user(role="MANAGER"))
    page = text(client.get(PAGE))
    assert "/datasets/study/#sampling" in page
    assert '/studies/new/?dataset=study">Label a random sample in a study</a> or, if' in page


def test_too_few_labels_say_how_many_are_missing(viewer):
    study(size=12)
    page = text(viewer.get(PAGE))
    assert "8 more labels needed" in page  # 12 comparisons are labelled, two of them twice


def test_a_session_with_most_rows_is_the_reason_why_there_is_no_interval(viewer, capsys):
    told_of = study().comparisons["Writing"]
    gathered = [each.pk for each in told_of[:20]]
    Comparison.objects.filter(pk__in=gathered).update(turn=told_of[0].turn)
    page = text(viewer.get(PAGE))
    assert "One session holds most of the rows." in page
    # 11 sessions count as 30 x 30 / (20 x 20 + 10) = 2.2 of 6.
    assert "Too few sessions (conversations) for an interval: about 20 more are needed." in page
    call_command("leaderboard", "--dataset", "study", "--corrected")
    assert capsys.readouterr().out.splitlines()[-1] == (
        "one session holds most of the rows; too few sessions for intervals: "
        "about 20 more sessions needed"
    )


def test_sessions_of_one_row_need_no_such_reason(viewer):
    study()
    assert "Too few sessions" not in text(viewer.get(PAGE))


def test_a_study_s_beginning_is_named_and_the_rest_left_out(viewer):
    stage = study()
    pairs, ann = (
        stage.comparisons["Writing"],
        stage.comparisons["Writing"][0].labels.get().annotator,
    )
    newest = max(pair.pk for pair in pairs)
    drawn = make_study(stage.dataset, name="Pilot", selection={"sample": 25}, newest_target=newest)
    for place, pair in enumerate(pairs[:25]):
        item = make_item(drawn, comparison=pair)
        if place != 22:
            make_claim(item, ann, state="DONE")
    ann.pairwiselabels.filter(comparison__in=pairs[:25]).update(study=drawn)
    pairs[22].labels.all().delete()
    answer = viewer.get(PAGE)
    labels = answer.context["board"].labels
    assert (told(answer)["alpha"].labels, labels.left_out) == (22, 9)
    assert "the first items in the order of Pilot" in text(answer)
    assert "9 other labels are not part of the sample" in text(answer)


def balanced(stage):
    """Of 25 comparisons 20 were drawn, of 5 all; the first is not answered yet."""
    pairs = stage.comparisons["Writing"]
    PairwiseLabel.objects.filter(annotator__username="study:bob").delete()
    ann = pairs[0].labels.get().annotator
    picked = pairs[:20] + pairs[25:]
    pilot = make_study(
        stage.dataset,
        name="Pilot",
        selection={"sample": 25, "strata": ["SCENARIO"]},
        newest_target=max(pair.pk for pair in pairs),
    )
    for pair in picked:
        item = make_item(pilot, comparison=pair, inclusion_chance=0.8 if pair in pairs[:25] else 1)
        if pair != pairs[0]:
            make_claim(item, ann, state="DONE")
    PairwiseLabel.objects.exclude(comparison__in=picked).delete()
    PairwiseLabel.objects.update(study=pilot)
    return pilot, pairs, ann


def test_what_was_drawn_with_unequal_chances_counts_for_as_many_as_it_stands_for(viewer, capsys):
    """14 and 3 labels say A, the judge always B.

    (14 / .8 + 3) / 30; with one A skipped (13 / .8 + 3) of (19 / .8 + 5).
    """
    pilot, pairs, ann = balanced(study())
    assert "Labels of Pilot count once every item" in text(viewer.get(PAGE))
    make_claim(pilot.items.get(comparison=pairs[0]), ann, state="DONE")
    answer = viewer.get(PAGE)
    alpha = told(answer)["alpha"]
    assert alpha.corrected.value == pytest.approx(20.5 / 30)
    assert alpha.human.value == pytest.approx(20.5 / 30)
    assert (alpha.labels, alpha.targets) == (25, 30)
    assert "some comparisons had a higher chance than others: Pilot drew them so" in text(answer)
    rows = viewer.get(f"{ROWS}?model=alpha")
    assert {row.stands_for for row in rows.context["rows"]} == {1.25, 1.0, None}
    assert "stands for" in text(rows)
    call_command("leaderboard", "--dataset", "study", "--corrected")
    assert "as many comparisons as it stands for" in capsys.readouterr().out
    ratings = {row.model: row.rating for row in answer.context["board"].ranking.models}
    gap = ratings["alpha"] - ratings["beta"]
    assert gap == pytest.approx(400 * log10(20.5 / 9.5), abs=0.1)
    pairs[0].labels.all().delete()
    skipped = told(viewer.get(PAGE))["alpha"]
    assert skipped.corrected.value == pytest.approx(19.25 / 28.75)


def test_of_a_balanced_sample_that_two_shared_one_of_them_corrects_nothing(viewer):
    pilot, pairs, ann = balanced(study())
    make_claim(pilot.items.get(comparison=pairs[0]), ann, state="DONE")
    address = f"{PAGE}?source=base&annotator={ann.pk}"
    assert told(viewer.get(address))["alpha"].corrected is not None
    item = pilot.items.get(comparison=pairs[0])
    item.claims.all().delete()
    make_claim(item, make_user(), state="DONE")
    answer = viewer.get(address)
    assert told(answer)["alpha"].corrected is None
    assert "Pilot drew some comparisons with a higher chance than others, and several" in text(
        answer
    )
    assert told(viewer.get(f"{PAGE}?source=base"))["alpha"].corrected is not None


@pytest.mark.parametrize("left_out", ["failed", "learned from", "not asked about"])
def test_chances_do_not_hold_where_a_judge_leaves_out_what_was_drawn(viewer, left_out):
    """Whether a call failed says nothing of the draw; what was learned from is chosen among it."""
    pilot, pairs, ann = balanced(study())
    make_claim(pilot.items.get(comparison=pairs[0]), ann, state="DONE")
    run = JudgeRun.objects.get(kind="TEST")
    plan = run.config["scenarios"][0]
    Judgment.objects.filter(comparison=pairs[0]).delete()
    if left_out == "learned from":
        plan["learned_from"] = [pairs[0].pk]
    elif left_out == "not asked about":
        plan["winners"] = [each for each in plan["winners"] if each[0] != pairs[0].pk]
    run.save()
    for source, holds in (
        ("selected", left_out == "failed"),
        ("base", left_out != "not asked about"),
    ):
        answer = viewer.get(f"{PAGE}?source={source}")
        board = answer.context["board"]
        assert (dict(board.models)["alpha"].corrected is not None) is holds
        assert (board.ranking is not None) is holds
        assert ("Corrected rating of each model" in text(answer)) is holds
        told_why = "the judge was not asked about all of those that were labelled" in text(answer)
        assert told_why is not holds


def test_a_balanced_sample_without_chances_is_named_as_the_reason(viewer):
    pilot, pairs, ann = balanced(study())
    make_claim(pilot.items.get(comparison=pairs[0]), ann, state="DONE")
    pilot.items.update(inclusion_chance=None)
    answer = viewer.get(PAGE)
    assert told(answer)["alpha"].corrected is None
    assert "Labels of Pilot cannot count: no inclusion probability" in text(answer)


def test_every_number_leads_to_its_rows(viewer):
    study()
    page = viewer.get(PAGE).content.decode()
    assert f"{ROWS}?model=alpha&amp;source=base&amp;show=labelled" in page
    rows = viewer.get(ROWS + "?model=alpha&source=base").context["rows"]
    assert [(row.score, row.label, row.error) for row in rows[:3]] == [
        (0.0, 1.0, 1.0),
        (0.0, 1.0, 1.0),
        (0.0, 0.0, 0.0),
    ]
    own = viewer.get(ROWS + "?model=beta&source=base&show=labelled").context["rows"]
    assert {(row.opponent, row.score) for row in own} == {("alpha", 1.0)}
    assert viewer.get(ROWS + "?model=nobody").status_code == 404


def test_rows_without_a_label_have_no_difference(viewer):
    stage = study()
    stage.comparisons["Writing"][5].labels.all().delete()
    rows = viewer.get(ROWS + "?model=alpha").context["rows"]
    assert [row.error for row in rows if row.label is None] == [None]
    labelled = viewer.get(ROWS + "?model=alpha&show=labelled").context["rows"]
    assert len(labelled) == len(rows) - 1


def test_rows_need_no_bootstrap(viewer, monkeypatch):
    study()
    monkeypatch.setattr("benchmark.queries.corrected.corrected_ranking", None)
    assert viewer.get(ROWS + "?model=alpha").status_code == 200


def test_a_study_whose_order_is_not_random_is_to_be_finished(viewer):
    stage = study()
    pairs = stage.comparisons["Writing"]
    ann = pairs[0].labels.get().annotator
    pilot = make_study(stage.dataset, name="Pilot", selection={"sample": 30, "strata": ["MODELS"]})
    for pair in pairs:
        item = make_item(pilot, comparison=pair)
        if pair != pairs[5]:
            make_claim(item, ann, state="DONE")
    ann.pairwiselabels.update(study=pilot)
    pairs[5].labels.all().delete()
    page = text(viewer.get(PAGE))
    assert "Labels of Pilot count once every item there is answered or skipped" in page


def test_a_file_is_never_behind(viewer, monkeypatch):
    study()
    monkeypatch.setattr("benchmark.queries.kept._LONG_SECONDS", 0)
    first = told(viewer.get(PAGE))["alpha"].human.value
    make_label(Comparison.objects.first(), verdict="B")
    assert viewer.get(PAGE).context["kept"].as_of is not None
    rows = list(csv.DictReader(io.StringIO(viewer.get(CSV).content.decode())))
    assert float(rows[0]["human"]) < first


def test_the_leaderboard_loads_the_section_by_itself(viewer, django_assert_max_num_queries):
    study()
    page = text(viewer.get("/leaderboard/"))
    assert 'hx-get="/leaderboard/corrected/?dataset=study"' in page
    with django_assert_max_num_queries(21):
        part = viewer.get(PAGE, headers={"HX-Request": "true"})
    assert text(part).startswith('<section class="card flush" id="corrected">')


def test_without_a_judge_the_leaderboard_has_no_such_section(viewer):
    stage = Stage.make()
    stage.label(stage.rater("ann"), "AABB")
    page = text(viewer.get("/leaderboard/"))
    assert "Human labels" in page
    assert PAGE not in page


def test_the_file_has_every_figure(viewer):
    study()
    alpha, beta = csv.DictReader(io.StringIO(viewer.get(CSV).content.decode()))
    assert (alpha["model"], alpha["refused"], alpha["grounds"]) == ("alpha", "", "all")
    assert float(alpha["human"]) == pytest.approx(1 - float(beta["human"]))
    assert float(alpha["rating"]) > 1000 > float(beta["rating"])
    assert (alpha["rank"], alpha["judge"]) == ("1", "lexical")


def test_mt_bench_has_its_golden_figures_on_the_page(viewer):
    for name in ("question", "votes_human", "votes_gpt4_pair"):
        path = shared_data(f"mtbench_{name}.jsonl")
        call_command("import_records", path, dataset="mtbench", stdout=io.StringIO())
    found = told(viewer.get(PAGE + "?dataset=mtbench"))
    for model, labels, human, judge, r in (
        ("gpt-4", 578, 0.7332, 0.8575, 0.2948),
        ("gpt-3.5-turbo", 678, 0.6474, 0.6088, 0.5475),
        ("vicuna-13b-v1.2", 585, 0.4827, 0.4575, 0.6041),
        ("alpaca-13b", 582, 0.2823, 0.2431, 0.6011),
    ):
        figure = found[model]
        assert (figure.labels, figure.targets) == (labels, 800)
        given = (figure.human.value, figure.judge.value, figure.correlation)
        assert given == pytest.approx((human, judge, r), abs=5.1e-5)
        assert figure.corrected is None  # nobody has stated how these votes were drawn
