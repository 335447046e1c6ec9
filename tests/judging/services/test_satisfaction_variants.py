"""Every way of asking about satisfaction from start to end, against a server on loopback."""

from __future__ import annotations

import json

import pytest

from annotation.models import SatisfactionLabel, User
from judging.core.prompts import load_prompt
from judging.core.rules import SPECS, Level, Need, SatisfactionSettings, Variant
from judging.models import (
    InducedRubric,
    JudgeRun,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.prompts import owner_of
from judging.queries.satisfaction.labels import teaching_of
from judging.services.edited_prompts import publish_prompt
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.run_requests import finished_like
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import planned_satisfaction, start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

EVERY = pytest.mark.parametrize(
    ("variant", "level"),
    [(variant, level) for variant, spec in SPECS.items() for level in spec.prompts],
)
LANGUAGE = pytest.mark.parametrize("language", ["en", "zh"])


@pytest.fixture
def server():
    with FakeLlm() as fake:
        yield fake


def endpoint_at(server, **more):
    return make_endpoint(
        base_url=server.base_url, has_logprobs=True, has_json_schema=True, concurrency=4, **more
    )


def run_of(dataset, endpoint, variant, level=Level.TURN, **more):
    settings = SatisfactionSettings(variant=variant, level=level, **more)
    started = start_satisfaction_run(dataset=dataset, judge=endpoint.name, settings=settings)
    return run_to_end(started.pk)


def prompts(server):
    return [body["messages"][-1]["content"] for body in server.bodies]


def ratings_at(level, **more):
    return make_ratings(sessions=level is Level.SESSION, **more)


@EVERY
@LANGUAGE
def test_a_variant_scores_everything_as_estimated_and_pays_for_no_call_twice(
    server, variant, level, language
):
    dataset = ratings_at(level, language=language, people=2)
    endpoint = endpoint_at(server)
    settings = SatisfactionSettings(variant=variant, level=level)
    asked = {"dataset": dataset, "judge": endpoint.name, "settings": settings}
    before = estimate(planned_satisfaction(**asked))
    run = run_of(dataset, endpoint, variant, level)
    assert (run.status, run.error_code) == ("DONE", "")
    paid = server.stats()["calls"]
    assert paid == before.calls >= 20
    rows = list(SatisfactionJudgment.objects.filter(run=run).order_by("pk"))
    assert len(rows) == 20
    assert {(row.status, row.fallback_reason) for row in rows} == {("DONE", "")}
    assert all(row.calibrated is not None and row.call_id is not None for row in rows)
    assert all(row.expected_score is not None and 1 <= row.expected_score <= 5 for row in rows)
    assert all((row.session_id is None) is (level is Level.TURN) for row in rows)
    assert UserMemory.objects.filter(run=run, status="DONE").count() == (
        4 if SPECS[variant].need is Need.MEMORY else 0
    )
    wanted = {3, 4} if variant is Variant.SPUR else {1, 2, 3, 4, 5}
    assert {row.score for row in rows} <= wanted
    assert len({row.score for row in rows}) > 1
    assert all((row.reason is None) is (row.score >= 4) for row in rows)
    used = {label.split(".")[0] for label in run.config["judge"]["prompts"]}
    assert SPECS[variant].prompts[level] in used
    assert finished_like(planned_satisfaction(**asked)) == JudgeRun.objects.get(pk=run.pk)
    if language == "en":  # what is stored is found alike in any
        again = run_of(dataset, endpoint, variant, level)
        assert again != run
        assert server.stats()["calls"] == paid
        said = again.satisfaction_judgments.order_by("pk").values_list("score", flat=True)
        assert list(said) == [row.score for row in rows]


def labels_of(dataset, name, scenario, level):
    """What one user said in one scenario."""
    path = "session" if level is Level.SESSION else "response__turn__session"
    return SatisfactionLabel.objects.filter(
        **{f"{path}__scenario__name": scenario, f"{path}__dataset": dataset},
        annotator__username=f"{dataset.slug}:{name}",
    )


def about(server, name):
    """What was asked about one user's target scenario, and everything that went into it."""
    response = f"<response>\nGo to the {name} kind 0"
    return {prompt for prompt in prompts(server) if response in prompt}


def asked_about_p1(variant, level, changed="", **labels):
    """What is asked about p1's target scenario after p1 said something else of one scenario."""
    with FakeLlm() as server:
        dataset = ratings_at(level, people=2)
        if changed:
            assert labels_of(dataset, "p1", changed, level).update(reason="OTHER", **labels) == 5
        run_of(dataset, endpoint_at(server), variant, level)
        assert not any("SENTINEL" in prompt for prompt in prompts(server))
        return about(server, "p1")


@EVERY
def test_no_label_of_the_target_scenario_reaches_a_prompt(variant, level):
    """Whatever a user said of the targets, everything asked about them is letter by letter equal.

    It holds for every variant in the table, a future one included. Labels in the OTHER scenario
    do reach the prompts of the variants that show the user, or the test would see nothing.
    """
    plain = asked_about_p1(variant, level)
    assert len(plain) == 5
    assert asked_about_p1(variant, level, "kind 0", score=2, comment="SENTINEL") == plain
    if SPECS[variant].need.personal:
        assert asked_about_p1(variant, level, "kind 1", score=2) != plain


@pytest.mark.parametrize(
    "variant", [variant for variant, spec in SPECS.items() if spec.need.from_training]
)
def test_who_is_judged_taught_nothing_of_it(server, variant):
    dataset = make_ratings()
    run = run_of(dataset, endpoint_at(server), variant)
    users = {user.pk for user in User.objects.filter(username__startswith=dataset.slug)}
    folds = run.config["teaching"]
    assert len(folds) == 2
    assert {user for fold in folds for user in fold["judged"]} == users
    for fold in folds:
        assert set(fold["judged"]).isdisjoint(fold["training"])
        taught = SatisfactionLabel.objects.filter(pk__in=fold["examples"])
        assert set(taught.values_list("annotator_id", flat=True)) <= set(fold["training"])
    for row in InducedRubric.objects.filter(run=run, step="TURN").select_related("label"):
        assert row.label.annotator_id in folds[row.fold]["training"]
        assert (row.label.score >= 4) is row.satisfied


def test_another_dataset_can_teach(server):
    train, test = make_ratings(people=3), make_ratings(people=2)
    run = run_of(test, endpoint_at(server), Variant.FEW_SHOT, train=train.slug)
    (fold,) = run.config["teaching"]
    raters = User.objects.filter(pk__in=fold["training"]).values_list("username", flat=True)
    assert list(raters) == [f"{train.slug}:p2"]  # p0 and p1 go by names that are judged
    found = teaching_of(run)[0]
    assert [turn.score for turn in found.examples] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    scored = [prompt for prompt in prompts(server) if "<examples>" in prompt]
    assert len(scored) == 20
    assert all(prompt.count("<turn>") == 10 for prompt in scored)
    assert all("p2 kind" in prompt for prompt in scored)


def test_the_retrieval_judge_is_shown_the_users_own_nearest_turns(server):
    dataset = make_ratings(people=2)
    run_of(dataset, endpoint_at(server), Variant.RETRIEVAL)
    asked = about(server, "p1")
    assert len(asked) == 5
    for prompt in asked:
        history = prompt.partition("<history>")[2].partition("</history>")[0]
        assert history.count("<turn>") == 4
        assert history.count("p1 in kind 1") == 4


def test_rubrics_are_induced_stored_and_judged_by(server):
    """Two people, ten turns each: two folds of ten turns, four satisfied and six not.

    A chunk holds 26 turns, so that there is no step between; each class takes ten rubrics.
    """
    dataset = make_ratings(people=2)
    run = run_of(dataset, endpoint_at(server), Variant.SPUR)
    rows = InducedRubric.objects.filter(run=run, status="DONE")
    counts = {step: rows.filter(step=step).count() for step in ("TURN", "CHUNK", "FINAL")}
    assert counts == {"TURN": 20, "CHUNK": 0, "FINAL": 4}
    assert all(len(row.sentences) == 3 for row in rows.filter(step="TURN"))
    first, second = teaching_of(run)
    assert (first.turns, second.turns) == (10, 10)
    assert len(first.rubrics.satisfied) == len(first.rubrics.dissatisfied) == 10
    judged = [prompt for prompt in prompts(server) if "<rubrics>" in prompt]
    assert len(judged) == 20
    for fold in (first, second):
        shown = [text for text in judged if f"S1. {fold.rubrics.satisfied[0]}" in text]
        assert len(shown) >= 10


def test_many_turns_are_condensed_in_chunks(server):
    dataset = make_ratings(people=2, turns=60)
    run = run_of(dataset, endpoint_at(server), Variant.SPUR)
    rows = InducedRubric.objects.filter(run=run)
    # Each of the two folds is taught by one person: 48 satisfied turns and 72 others, of which
    # 26 make a chunk.
    assert {row.status for row in rows} == {"DONE"}
    chunks = rows.filter(step="CHUNK", fold=0)
    assert [chunks.filter(satisfied=side).count() for side in (True, False)] == [2, 3]
    final = rows.get(step="FINAL", fold=0, satisfied=True)
    parts = chunks.filter(satisfied=True).order_by("position")
    assert final.sentences == tuple(text for row in parts for text in row.sentences)[:10]


def test_a_class_that_cannot_be_induced_fails_its_turns_and_no_others(server):
    dataset, endpoint = make_ratings(people=2, turns=4), endpoint_at(server)
    server.faults = {"garbage": 1.0}
    run = run_of(dataset, endpoint, Variant.SPUR)
    assert (run.status, run.error_code) == ("FAILED", "rubrics:unparseable")
    codes = set(InducedRubric.objects.filter(run=run).values_list("step", "status", "error_code"))
    assert codes == {
        ("TURN", "UNPARSEABLE", "rubrics:unparseable"),
        ("FINAL", "FAILED", "rubrics:nothing-found"),
    }
    rows = SatisfactionJudgment.objects.filter(run=run)
    assert set(rows.values_list("status", "error_code")) == {("FAILED", "rubrics:missing")}


GOOD = {
    "classification": 2,
    "reason": "insufficient detail",
    "analysis": "It says too little.",
}
LATER = {**GOOD, "classification": 1}


def wrapped(kind, reply):
    """One reply, broken in one of ten ways; None where nothing may be read from it."""
    text = json.dumps(reply)
    return {
        "fenced": f"```json\n{text}\n```",
        "trailing text": f"{text}\nI hope that this helps.",
        "single quotes": str(reply),
        "missing brace": text[:-1],
        "numbers as text": json.dumps({name: str(value) for name, value in reply.items()}),
        "Chinese keys and punctuation": text.replace('"classification":', "“评分”：")
        .replace('"reason":', "“原因”：")
        .replace('"analysis":', "“分析”：")
        .replace('", ', "”，"),
        "reasoning before it": f"<think>Perhaps {json.dumps(LATER)}</think>{text}",
        "two objects": f"{json.dumps({**reply, 'analysis': 'First thought.'})}\nRather:\n{text}",
        "out of range": text.replace(": 2", ": 6").replace(": false", ": 6"),
        "empty": "",
    }[kind]


BROKEN = (
    "fenced",
    "trailing text",
    "single quotes",
    "missing brace",
    "numbers as text",
    "Chinese keys and punctuation",
    "reasoning before it",
    "two objects",
    "out of range",
    "empty",
)
LOST = {"out of range": "score:unparseable", "empty": "llm:no-answer"}


def reply_of(variant):
    """A dissatisfied reply in the form of a variant."""
    form = SPECS[variant].form
    values = GOOD | {flag.name: False for flag in form.flags}
    return {name: values[name] for name in form.fields}


@EVERY
def test_broken_output_is_repaired_or_a_status(server, variant, level):
    """Never a default score: what cannot be read has a status, the raw text and its calls.

    One turn for each kind of broken reply; a reply that cannot be read is asked for once more.
    """
    dataset = ratings_at(level, people=2)
    targets = SatisfactionLabel.objects.filter(annotator__username__endswith=":p0")
    path = "session__turns__responses__text" if level is Level.SESSION else "response__text"
    texts = dict(zip(BROKEN, targets.order_by("pk").values_list(path, flat=True), strict=True))
    for kind, text in texts.items():
        server.told[f"<response>\n{text}\n"] = Act(text=wrapped(kind, reply_of(variant)))
    run = run_of(dataset, endpoint_at(server), variant, level)
    assert run.status == "DONE"
    score = 3 if variant is Variant.SPUR else 2
    rows = SatisfactionJudgment.objects.filter(run=run)
    path = "session__turns__responses__text" if level is Level.SESSION else "response__text"
    for kind, text in texts.items():
        row = rows.get(**{path: text})
        if kind in LOST:
            expected = ("UNPARSEABLE", None, None, LOST[kind])
        else:
            expected = ("DONE", score, "INSUFFICIENT_DETAIL", "")
        assert (row.status, row.score, row.reason, row.error_code) == expected, kind
        assert (row.calibrated is None) is (kind in LOST)
        assert row.call is not None, kind
        assert row.call.attempt == (1 if kind in LOST else 0)


def test_a_dataset_of_training_users_that_does_not_exist_is_refused():
    settings = SatisfactionSettings(variant=Variant.SPUR, train="nowhere")
    with refuses("run:unknown-training") as caught:
        planned_satisfaction(
            dataset=make_ratings(people=2), judge=make_endpoint().name, settings=settings
        )
    assert caught.value.code == "run:unknown-training"


def test_an_example_whose_rating_was_taken_back_is_left_out(server):
    train, test = make_ratings(people=3), make_ratings(people=1)
    settings = SatisfactionSettings(variant=Variant.FEW_SHOT, train=train.slug)
    run = start_satisfaction_run(dataset=test, judge=endpoint_at(server).name, settings=settings)
    first, *others = run.config["teaching"][0]["examples"]
    SatisfactionLabel.objects.filter(pk=first).delete()
    assert run_to_end(run.pk).status == "DONE"
    assert all(prompt.count("<turn>") == len(others) for prompt in prompts(server))


def test_an_edited_prompt_of_a_variant_is_the_one_that_is_asked(server):
    dataset = make_ratings(people=2)
    released = load_prompt("score_turn_zero_shot", language="en").text
    edited = released.replace("You predict how satisfied", "Say how satisfied")
    name = "score_turn_zero_shot"
    owner = owner_of(dataset, annotator=None, rated=True)
    manager = make_user(role="MANAGER")
    publish_prompt(owner, name=name, language="en", text=edited, since=0, by=manager)
    run = run_of(dataset, endpoint_at(server), Variant.ZERO_SHOT)
    assert all(prompt.startswith("Say how satisfied") for prompt in prompts(server))
    assert "score_turn_zero_shot.edited.en" in run.config["judge"]["prompts"]
