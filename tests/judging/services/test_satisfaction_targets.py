"""Runs over what users did not rate: calibrated among originals, without a call too many."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest

from annotation.models import Dataset, Response, SatisfactionLabel, User
from judging.core.calibration import Calibration, calibrate, score_counts
from judging.core.rules import Level, SatisfactionSettings, Variant
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.core.targets import RunTarget, Targets
from judging.models import JudgeRun, LearnedModel, RunKind, SatisfactionJudgment, UserMemory
from judging.queries.run_totals import scored_totals
from judging.queries.satisfaction.labels import changes_since
from judging.queries.satisfaction.turns import filter_from, turn_of_run, turns_of_run
from judging.services import learned
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.learned import learned_model
from judging.services.run_requests import RunRequest
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_label,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import planned_satisfaction, start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

ALL = Targets(kind=RunTarget.ALL)
CANDIDATES = Targets(kind=RunTarget.CANDIDATES)
UNLABELLED = Targets(kind=RunTarget.UNLABELLED)


def make_targets(*, people=2, shuffled=0, turns=6, keep=3):
    """Of six turns three stay rated, and each has two candidates by models of other lengths."""
    dataset = make_ratings(people=people, turns=turns)
    for place in range(keep, turns):
        SatisfactionLabel.objects.filter(response__turn__position=place).delete()
    rows = [
        (response, model, factor)
        for response in Response.objects.filter(
            original=True, turn__session__dataset=dataset
        ).order_by("pk")
        for model, factor in (("long", 5), ("short", 1))
    ]
    random.Random(shuffled).shuffle(rows)
    for response, model, factor in rows:
        text = f"{model} {response.text[:40]}" * factor
        make_response(response.turn, model=model, text=text)
    return dataset


def scored(dataset, judge="lexical", targets=ALL, **more):
    run = start_satisfaction_run(dataset=dataset, judge=judge, targets=targets, **more)
    run = run_to_end(run.pk)
    assert (run.status, run.error_code) == ("DONE", "")
    return run


def by_key(run):
    """Raw and calibrated scores by user, session, turn and model: no id."""
    rows = SatisfactionJudgment.objects.filter(run=run).values_list(
        "user__display_name",
        "response__turn__session__scenario__name",
        "response__turn__position",
        "response__model",
        "score",
        "calibrated",
    )
    return {tuple(row[:4]): tuple(row[4:]) for row in rows}


def test_all_is_scored_and_calibrated_among_the_originals_of_each_block():
    dataset = make_targets(people=3)
    run = scored(dataset)
    assert run.config["calibration"] == "REFERENCE_CDF"
    totals = scored_totals([run.pk])
    assert totals["parts"] == {"rated": 18, "unlabelled": 18, "candidate": 72, "reference": 0}
    assert (totals["scored"], totals["failed"], totals["calls"]) == (108, 0, 0)
    found = by_key(run)
    own = {key: value for key, value in found.items() if key[:2] == ("p1", "kind 0")}
    reference = [raw for key, (raw, _) in own.items() if key[3] == "bot"]
    labels = SatisfactionLabel.objects.filter(
        annotator__display_name="p1", response__turn__session__scenario__name="kind 1"
    )
    history = score_counts(list(labels.values_list("score", flat=True)))
    expected = calibrate(
        [raw for raw, _ in own.values()],
        method=Calibration.REFERENCE_CDF,
        history=history,
        reference=reference,
    )
    assert [calibrated for _, calibrated in own.values()] == [each.score for each in expected]
    assert len(reference) == 6


def test_a_score_depends_on_nothing_that_is_scored_beside_it_nor_on_ids():
    """Few history turns would leave all scores raw: here each user rated five elsewhere."""
    settings = SatisfactionSettings(variant=Variant.NO_MEMORY)
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url, concurrency=8).name
        first = make_targets(turns=7, keep=5)
        everything = by_key(scored(first, name, settings=settings))
        assert any(raw != calibrated for raw, calibrated in everything.values())
        again = make_targets(turns=7, keep=5, shuffled=3)
        for targets in (
            CANDIDATES,
            UNLABELLED,
            Targets(kind=RunTarget.ALL, models=("long",), sample=5),
        ):
            found = by_key(scored(again, name, targets, settings=settings))
            assert found
            assert found == {key: everything[key] for key in found}


def test_rated_turns_alone_are_what_they_were():
    dataset = make_targets()
    plain = planned_satisfaction(dataset=dataset, judge="lexical")
    named = planned_satisfaction(
        dataset=dataset, judge="lexical", targets=Targets(kind=RunTarget.RATED)
    )
    assert plain.config == named.config
    assert "targets" not in plain.config
    assert plain.config["calibration"] == "CDF"
    run = run_to_end(start(plain).pk)
    assert set(run.satisfaction_judgments.values_list("part", flat=True)) == {"RATED"}
    assert run.satisfaction_judgments.count() == 12


def make_newcomer(dataset):
    """Somebody who rated nothing anywhere, with a session of one turn."""
    newcomer = make_rater(dataset, "new")
    session = make_session(dataset.scenarios.first(), original_user=newcomer)
    make_response(make_turn(session), text="An answer.", original=True)
    return newcomer


def test_a_user_without_history_is_scored_by_the_base_judge_with_the_reason():
    dataset = make_targets()
    newcomer = make_newcomer(dataset)
    row = scored(dataset, targets=UNLABELLED).satisfaction_judgments.get(user=newcomer)
    assert (row.part, row.memory, row.fallback_reason) == ("UNLABELLED", None, "NO_HISTORY")
    assert row.calibrated == row.score


@pytest.mark.parametrize("variant", [Variant.CHECKLIST, Variant.RETRIEVAL, Variant.FEW_SHOT])
def test_the_estimate_is_what_is_called_and_nothing_is_asked_twice(variant):
    dataset = make_targets(people=3)
    settings = SatisfactionSettings(variant=variant)
    with FakeLlm() as server:
        endpoint = make_endpoint(base_url=server.base_url, concurrency=8)
        asked = {"dataset": dataset, "judge": endpoint.name, "settings": settings}
        rated = run_to_end(start_satisfaction_run(**asked).pk)
        paid = server.stats()["calls"]
        assert rated.status == "DONE"
        planned = planned_satisfaction(**asked, targets=CANDIDATES)
        told = estimate(planned)
        run = scored(dataset, endpoint.name, CANDIDATES, settings=settings)
        # Memories and rated originals are stored replies: 72 candidates and 18 unrated originals.
        assert server.stats()["calls"] - paid == told.calls == 90
        assert scored_totals([run.pk])["parts"] == {
            "rated": 0,
            "unlabelled": 0,
            "candidate": 72,
            "reference": 36,
        }
        scored(dataset, endpoint.name, ALL, settings=settings)
        scored(dataset, endpoint.name, CANDIDATES, settings=settings)
        assert server.stats()["calls"] - paid == 90


def test_another_dataset_is_scored_in_an_annotators_stead():
    learned_in = make_ratings(people=2, turns=6)
    other = make_dataset()
    for name in ("kind 0", "elsewhere"):
        session = make_session(make_scenario(other, name=name), original_user=None)
        for model, original in (("bot", True), ("long", False)):
            turn = session.turns.first() or make_turn(session)
            make_response(turn, model=model, original=original, text=f"{name} {model} " * 9)
    annotator = User.objects.get(display_name="p1")
    run = scored(other, annotator=annotator, sets_dataset=learned_in)
    rows = run.satisfaction_judgments.order_by("pk")
    assert {row.user for row in rows} == {annotator}
    assert [row.part for row in rows] == ["UNLABELLED", "CANDIDATE"] * 2
    assert {row.calibration for row in rows} == {"REFERENCE_CDF"}
    # A scenario of the same name is left out of the history.
    counted = {row.target_scenario.name: row.statistics["turns"] for row in run.memories.all()}
    assert counted == {"kind 0": 6, "elsewhere": 12}
    memories = list(UserMemory.objects.filter(run=run).select_related("run", "target_scenario"))
    assert changes_since(memories) == {}
    SatisfactionLabel.objects.filter(
        annotator=annotator, response__turn__session__scenario__name="kind 0"
    ).update(score=1, reason="OTHER")
    assert {one.target_scenario.name for one in memories if one.pk in changes_since(memories)} == {
        "elsewhere"
    }
    detail = turn_of_run(run, turns_of_run(run, filter_from({"model": "long"})).rows[0].id)
    assert detail is not None
    assert detail.row.model == "long"
    assert detail.dialogue
    learned_in.slug = "renamed"
    learned_in.save()
    asked = {"targets": ALL, "annotator": annotator, "sets_dataset": learned_in}
    late = start(planned_satisfaction(dataset=other, judge="lexical", **asked))
    Dataset.objects.filter(pk=learned_in.pk).update(slug="gone")
    assert run_to_end(late.pk).error_code == "run:no-history"


def test_unrated_conversations_are_scored_as_wholes():
    dataset = make_ratings(people=4, turns=6, sessions=True)
    SatisfactionLabel.objects.filter(session__key__endswith="5").delete()
    settings = SatisfactionSettings(level=Level.SESSION)
    run = scored(dataset, targets=UNLABELLED, settings=settings)
    assert scored_totals([run.pk])["parts"] == {
        "rated": 0,
        "unlabelled": 8,
        "candidate": 0,
        "reference": 40,
    }
    assert set(run.satisfaction_judgments.values_list("fallback_reason", flat=True)) == {""}
    row = turns_of_run(run, filter_from({"show": "unrated"})).rows[0]
    detail = turn_of_run(run, row.id)
    assert detail is not None
    assert (detail.row.human, detail.row.position) == (None, None)
    assert detail.response


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("run:targets", {"targets": Targets(kind=RunTarget.STUDY, study="s")}),
        ("run:targets", {"targets": Targets(kind=RunTarget.PLAN, plan=1)}),
        (
            "run:targets",
            {"targets": CANDIDATES, "settings": SatisfactionSettings(level=Level.SESSION)},
        ),
        ("run:no-targets", {"targets": Targets(kind=RunTarget.ALL, models=("nobody",))}),
        ("run:no-targets", {"targets": CANDIDATES}),
    ],
)
def test_what_cannot_be_scored_is_refused_whole(code, asked):
    dataset = make_ratings(people=2)
    with refuses(code):
        start_satisfaction_run(dataset=dataset, judge="lexical", **asked)
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize("level", Level)
def test_all_of_a_dataset_is_scored_in_the_stead_of_each_who_rated(level):
    learned_in = make_ratings(people=2, sessions=level is Level.SESSION)
    raters = set(User.objects.filter(username__startswith=f"{learned_in.slug}:"))
    pair = make_comparison(make_turn(make_session(learned_in.scenarios.first())))
    make_label(pair, annotator=make_rater(learned_in, "labeller"))
    asked = RunRequest(
        kind=RunKind.SATISFACTION,
        dataset=make_ratings(people=1),
        sets_dataset=learned_in,
        targets=ALL,
        satisfaction=SatisfactionSettings(level=level),
    )
    runs = plan(asked)
    assert {run.annotator for run in runs} == raters
    assert {run.config["history_dataset"] for run in runs} == {learned_in.slug}
    (alone,) = plan(replace(asked, annotator=runs[0].annotator))
    assert alone.config == runs[0].config
    with refuses("run:no-ratings", match="nobody rated"):
        plan(replace(asked, sets_dataset=make_dataset()))
    with refuses("run:no-targets"):
        plan(replace(asked, targets=Targets(kind=RunTarget.ALL, models=("nobody",))))


def trained_quickly(dataset, level=Level.TURN):
    """The dataset's evaluator, of two trees; runs take it for the one that they would train."""
    quick = Settings(general=GeneralSettings(trees=2))
    model = learned_model(dataset=dataset, level=level, settings=quick)
    LearnedModel.objects.filter(pk=model.pk).update(settings=asdict(learned.Settings()))
    return model


def test_the_learned_evaluator_scores_unrated_turns_by_what_others_teach():
    dataset = make_targets(people=5, turns=4)
    newcomer = make_newcomer(dataset)
    model = trained_quickly(dataset)
    run = scored(dataset, "learned")
    rows = list(run.satisfaction_judgments.select_related("user"))
    assert {row.status for row in rows} == {"DONE"}
    assert scored_totals([run.pk])["parts"]["candidate"] == 80
    assert {row.calibration for row in rows} == {"RAW"}
    assert run.learned_model == model
    told = {(row.user == newcomer, row.fallback_reason) for row in rows}
    assert told == {(False, ""), (True, "NO_HISTORY")}
    # Nothing of the others is read: a candidate alone is scored as among all.
    alone = scored(dataset, "learned", Targets(kind=RunTarget.CANDIDATES, sample=1))
    (row,) = alone.satisfaction_judgments.exclude(part="REFERENCE")
    among = next(one for one in rows if one.response_id == row.response_id)
    assert (row.expected_score, row.raw) == (among.expected_score, among.raw)


def test_the_learned_evaluator_scores_conversations_as_wholes():
    dataset = make_ratings(people=5, turns=3, sessions=True)
    SatisfactionLabel.objects.filter(session__key__endswith="2").delete()
    settings = SatisfactionSettings(level=Level.SESSION)
    model = trained_quickly(dataset, Level.SESSION)
    assert (model.level, model.version) == ("SESSION", 1)
    run = start_satisfaction_run(dataset=dataset, judge="learned", settings=settings)
    rows = run_to_end(run.pk).satisfaction_judgments.order_by("pk")
    assert [row.score for row in rows] == model.held_out["scores"]
    assert all(row.session_id for row in rows)
    more = scored(dataset, "learned", UNLABELLED, settings=settings)
    assert more.learned_model == model
    assert scored_totals([more.pk])["parts"]["unlabelled"] == 10


def test_a_rating_given_later_is_shown_beside_the_score_and_counts_for_nothing():
    dataset = make_targets()
    run = scored(dataset, targets=UNLABELLED)
    row = run.satisfaction_judgments.filter(part="UNLABELLED").first()
    assert row is not None
    make_rating(row.response, annotator=row.user, score=2, reason="OTHER")
    detail = turn_of_run(run, row.pk)
    assert detail is not None
    assert (detail.row.human, detail.row.part.value) == (2, "UNLABELLED")


def test_nearest_turns_are_found_where_few_targets_of_an_earlier_block_are_read():
    """An estimate reads a target a block: the second block's history was no target in the first."""
    dataset = make_ratings(people=1)
    settings = SatisfactionSettings(variant=Variant.RETRIEVAL)
    asked = {"dataset": dataset, "judge": make_endpoint().name, "settings": settings}
    assert estimate(planned_satisfaction(**asked, targets=ALL)).calls == 10


def test_a_namesake_teaches_nothing_about_somebody_of_a_third_dataset():
    """The annotator of one dataset scores another, and the training users are of a third."""
    learned_in, other, teaching = make_ratings(people=1), make_targets(), make_ratings(people=2)
    run = planned_satisfaction(
        dataset=other,
        judge=make_endpoint().name,
        annotator=User.objects.get(username=f"{learned_in.slug}:p0"),
        sets_dataset=learned_in,
        settings=SatisfactionSettings(variant=Variant.FEW_SHOT, train=teaching.slug),
        targets=ALL,
    )
    (fold,) = run.config["teaching"]
    raters = User.objects.filter(pk__in=fold["training"]).values_list("username", flat=True)
    assert list(raters) == [f"{teaching.slug}:p1"]
