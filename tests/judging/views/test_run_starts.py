from __future__ import annotations

import re
from dataclasses import replace

import pytest

from annotation.models import Dataset
from judging.forms.runs import RunForm
from judging.models import JudgeRun, RunKind
from judging.services.run_requests import RunRequest
from tests.benchmark.stage import Stage
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_label,
    make_rating,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def start(manager):
    fields = {"dataset": "study", "judge": "lexical", "kind": "DISTIL", "annotator": ""}
    return manager.post("/runs/new/", fields)


def study():
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB" + "AAAA")
    return stage, ann


def test_learning_for_everybody_starts_a_run_for_each_who_has_labels(manager):
    stage, ann = study()
    bob, rater = stage.rater("bob"), stage.rater("rater")
    stage.label(bob, "BBBB" * 2)
    make_rating(stage.comparisons["Code"][0].response_a, annotator=rater)
    answer = start(manager)
    assert (answer.status_code, answer.url) == (302, "/runs/?dataset=study")
    started = JudgeRun.objects.all()
    assert {(run.kind, run.annotator_id) for run in started} == {
        ("DISTIL", ann.pk),
        ("DISTIL", bob.pk),
    }
    assert all(run.created_by is not None for run in started)


def test_learning_for_everybody_where_one_has_labels_leads_to_the_run(manager):
    _stage, ann = study()
    answer = start(manager)
    run = JudgeRun.objects.order_by("-pk").first()
    assert (answer.url, run.annotator_id) == (f"/runs/{run.pk}/", ann.pk)


def test_learning_for_everybody_without_labels_says_so(manager):
    stage = Stage.make()
    make_rating(stage.comparisons["Writing"][0].response_a)
    answer = start(manager)
    assert answer.status_code == 422
    assert not JudgeRun.objects.exists()


def test_the_learned_evaluator_learns_no_preferences(manager):
    study()
    fields = {"dataset": "study", "judge": "learned", "kind": "DISTIL", "annotator": ""}
    answer = manager.post("/runs/new/", fields)
    assert answer.status_code == 422
    assert "The learned evaluator scores satisfaction only." in answer.content.decode()
    assert not JudgeRun.objects.exists()


def measure(manager, ann, *judges, prompt, kind="TEST"):
    fields = {"dataset": "study", "judge": judges, "kind": kind, "annotator": ann.pk}
    return manager.post("/runs/new/", {**fields, "prompt": prompt})


def test_measuring_by_grades_starts_a_run_that_grades(manager):
    _stage, ann = study()
    name = make_endpoint().name
    answer = measure(manager, ann, name, prompt="SINGLE")
    run = JudgeRun.objects.get()
    assert (answer.url, run.kind) == (f"/runs/{run.pk}/", "GRADE")
    assert run.response_scores.count() > 0
    page = manager.get(answer.url).content.decode()
    assert "Grade responses" in page
    assert "grade each response from 1 to 10" in page


@pytest.mark.parametrize(
    ("judge", "kind", "prompt", "said"),
    [
        ("lexical", "TEST", "PAIRWISE", "The lexical judge compares in its own way only."),
        ("fake", "TEST", "REFERENCE", "None of these comparisons has a reference answer"),
        ("fake", "TEST", "REWARD", "fake is not a reward model."),
        ("fake", "TEST", "NONSENSE", "Select a valid choice."),
    ],
)
def test_what_cannot_be_asked_so_is_refused_with_a_sentence(manager, judge, kind, prompt, said):
    _stage, ann = study()
    make_endpoint(name="fake")
    answer = measure(manager, ann, judge, prompt=prompt, kind=kind)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not JudgeRun.objects.exists()


def test_an_estimate_of_grades_counts_each_response_once(manager):
    _stage, ann = study()
    make_endpoint(name="fake")
    fields = {"dataset": "study", "judge": ["fake"], "kind": "TEST", "annotator": ann.pk}
    answer = manager.post("/runs/new/estimate/", {**fields, "prompt": "SINGLE"})
    (stage,) = answer.context["estimates"][0].stages
    assert (stage.stage.value, stage.questions) == ("grade", 16)  # eight pairs of two


def test_the_page_of_a_graded_comparison_shows_both_grades(manager):
    _stage, ann = study()
    measure(manager, ann, make_endpoint().name, prompt="SINGLE")
    run = JudgeRun.objects.get()
    judged = run.judgments.select_related("comparison").first()
    for response, value in (
        (judged.comparison.response_a_id, 7.5),
        (judged.comparison.response_b_id, 3.0),
    ):
        run.response_scores.filter(response=response).update(
            status="DONE", value=value, raw=f"Because. [[{value}]]"
        )
    page = manager.get(f"/runs/{run.pk}/comparisons/{judged.comparison_id}/").content.decode()
    assert page.index("7.5 of 10") < page.index("3 of 10")
    assert "Because. [[7.5]]" in page
    assert "Verdict from the grades" in page


@pytest.mark.parametrize(
    ("kind", "others"),
    [
        ("SATISFACTION", {"distil_prompt": "SENTENCE", "prompt": "NONSENSE"}),
        ("DISTIL", {"prompt": "SINGLE", "variant": "SPUR", "level": "SESSION", "train": "nowhere"}),
        ("TEST", {"distil_prompt": "SENTENCE", "variant": "SPUR", "level": "SESSION"}),
    ],
)
def test_what_only_another_kind_of_run_asks_is_left_out(manager, kind, others):
    _stage, ann = study()
    fields = {"judge": ["lexical"], "kind": kind, "annotator": ann.pk, **others}
    dataset = Dataset.objects.get(slug="study")
    form = RunForm(fields, dataset=dataset)
    assert form.is_valid(), form.errors
    (request,) = form.requests(dataset=dataset, by=ann)
    usual = RunRequest(kind=RunKind(kind), dataset=dataset, annotator=ann, judge="lexical")
    assert request == replace(usual, created_by=ann)


def test_the_page_says_which_kind_of_run_alone_asks_a_field(manager):
    study()
    page = manager.get("/runs/new/", {"dataset": "study"}).content.decode()
    assert re.findall(
        r'data-kind="([\w ]+)">\s*<div class="field">\s*<label for="id_(\w+)"', page
    ) == [
        ("DISTIL", "distiller"),
        ("TEST", "targets"),
        ("TEST", "sets"),
        ("SATISFACTION", "turn_targets"),
        ("SATISFACTION", "history_in"),
        ("TEST", "prompt"),
        ("SATISFACTION", "variant"),
        ("TEST SATISFACTION", "sample"),
        ("DISTIL", "dev_size"),
        ("DISTIL", "seed"),
        ("DISTIL", "sampling"),
        ("DISTIL", "window"),
        ("DISTIL TEST", "verdict"),
        ("DISTIL", "pooling"),
        ("DISTIL", "distil_prompt"),
        ("DISTIL", "mode"),
        ("DISTIL", "combine"),
        ("TEST", "learned_in"),
        ("SATISFACTION", "memory_judge"),
        ("SATISFACTION", "level"),
        ("SATISFACTION", "train"),
    ]


def test_an_equal_run_that_is_under_way_is_opened_and_anew_it_is_another(manager):
    _stage, ann = study()
    fields = {"dataset": "study", "judge": "lexical", "kind": "DISTIL", "annotator": ann.pk}
    first, second = manager.post("/runs/new/", fields), manager.post("/runs/new/", fields)
    (run,) = JudgeRun.objects.all()
    assert first.url == second.url == f"/runs/{run.pk}/"
    page = manager.get(second.url).content.decode()
    assert "An identical run is already in progress. It was opened instead of" in page
    assert "Queued. The run starts as soon as a worker is free." in page
    anew = manager.post("/runs/new/", fields | {"again": "on"})
    assert anew.url == f"/runs/{JudgeRun.objects.latest('pk').pk}/" != first.url
    assert "no other was started" not in manager.get(anew.url).content.decode()


def test_it_says_how_many_of_several_runs_were_under_way(manager):
    stage, ann = study()
    stage.label(stage.rater("bob"), "BBBB" * 2)
    one = {"dataset": "study", "judge": "lexical", "kind": "DISTIL", "annotator": ann.pk}
    manager.post("/runs/new/", one)
    page = manager.get(start(manager).url).content.decode()
    assert "1 identical run is already in progress and was not started again." in page
    assert JudgeRun.objects.count() == 2


def read_by(manager, ann, judge, verdict, kind="TEST", prompt="PAIRWISE"):
    fields = {"dataset": "study", "judge": [judge], "kind": kind, "annotator": ann.pk}
    return manager.post("/runs/new/", {**fields, "prompt": prompt, "verdict": verdict})


@pytest.mark.parametrize(
    ("kind", "verdict", "rule"),
    [
        ("TEST", "LOGPROB", "LOGPROB"),
        ("TEST", "", "STRICT"),
        ("DISTIL", "LOGPROB", "LOGPROB"),
        ("DISTIL", "STRICT", "STRICT"),
        ("DISTIL", "", "STRICT"),
    ],
)
def test_the_page_asks_how_verdicts_are_read(manager, kind, verdict, rule):
    _stage, ann = study()
    name = make_endpoint(has_logprobs=True).name
    answer = read_by(manager, ann, name, verdict, kind=kind)
    run = JudgeRun.objects.get()
    assert (answer.url, run.config["verdict_rule"]) == (f"/runs/{run.pk}/", rule)


@pytest.mark.parametrize(
    ("judge", "prompt", "said"),
    [
        ("lexical", "PERSONAL", "The lexical judge returns no log-probabilities."),
        ("fake", "PERSONAL", "fake returns no log-probabilities."),
        ("able", "SINGLE", "Grades are not read by letter probabilities."),
    ],
)
def test_what_gives_no_letters_is_refused_with_a_sentence(manager, judge, prompt, said):
    stage, ann = study()
    stage.distilled(ann)
    make_endpoint(name="fake")
    make_endpoint(name="able", has_logprobs=True)
    answer = read_by(manager, ann, judge, "LOGPROB", prompt=prompt)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not JudgeRun.objects.filter(kind="TEST").exists()


def test_judges_say_whether_they_return_log_probabilities(manager):
    _stage, ann = study()
    for name, known in (("able", True), ("unable", False), ("new", None)):
        make_endpoint(name=name, has_logprobs=known)
    make_endpoint(name="reward", has_scores=True)
    page = " ".join(manager.get("/runs/new/?dataset=study").content.decode().split())
    assert "able (log-probabilities: yes)" in page
    assert "unable (log-probabilities: no)" in page
    assert "new (log-probabilities: unknown until first use)" in page
    assert "reward (log" not in page
    fields = {"dataset": "study", "judge": ["able"], "kind": "TEST", "annotator": ann.pk}
    fields["prompt"] = "PAIRWISE"
    told = manager.post("/runs/new/estimate/", fields).content.decode()
    assert "able returns log-probabilities: reading verdicts by them is recommended" in told
    told = manager.post("/runs/new/estimate/", {**fields, "verdict": "LOGPROB"}).content.decode()
    assert "is recommended." not in told


def test_what_the_chosen_judges_cannot_do_is_shut_and_says_why(manager):
    study()
    make_endpoint(name="able", has_logprobs=True)
    make_endpoint(name="unable")
    make_endpoint(name="reward", has_scores=True)
    asked = {"dataset": "study", "kind": "TEST", "prompt": "PAIRWISE"}

    def fields(*judges, **more):
        answer = manager.post(
            "/runs/new/estimate/",
            {**asked, "judge": judges, **more},
            headers={"HX-Request": "true"},
        )
        return " ".join(answer.content.decode().split())

    able = fields("able")
    assert '<option value="LOGPROB">' in able
    assert 'id="row-prompt" hx-swap-oob="true" data-kind="TEST"' in able
    both = fields("able", "unable")
    assert '<option value="LOGPROB" disabled>' in both
    assert "By letter probabilities in both orders (unable returns no log-probabilities.)" in both
    assert '<option value="REWARD" disabled>' in both
    assert '<option value="PAIRWISE" disabled>' in fields("reward", prompt="REWARD")
    # What is chosen already is told, not lost.
    chosen = fields("unable", verdict="LOGPROB")
    assert '<option value="LOGPROB" selected>' in chosen
    assert '<p class="notice warning">unable returns no log-probabilities.</p>' in chosen
    page = manager.get("/runs/new/?dataset=study&judge=reward").content.decode()
    assert re.search(r'value="SATISFACTION"[^>]* disabled', page)
    assert '<option value="SPUR">' in able
    assert '<option value="SPUR" disabled>' in fields("lexical", prompt="")
    assert '<option value="NO_MEMORY">' in fields("lexical", prompt="")


def test_advanced_settings_are_folded_and_taken(manager):
    _stage, ann = study()
    page = manager.get("/runs/new/?dataset=study").content.decode()
    assert "By default 10 dev comparisons per scenario, seed 42" in page
    fields = {"dataset": "study", "judge": "lexical", "kind": "DISTIL", "annotator": ann.pk}
    wrong = manager.post("/runs/new/", {**fields, "dev_size": "0"}).content.decode()
    assert '<details class="folded" open>' in wrong
    asked = {"dev_size": "2", "seed": "0", "window": "LAST_TURN", "sampling": "PAPER"}
    assert manager.post("/runs/new/", {**fields, **asked}).status_code == 302
    config = JudgeRun.objects.get().config
    assert {name: str(config[name]) for name in asked} == asked


def test_an_endpoint_too_slow_for_its_timeout_is_told_with_the_cost_and_at_the_start(manager):
    _stage, ann = study()
    make_endpoint(name="slow", found_tokens_per_second=4.0, max_tokens=1024)
    fields = {"dataset": "study", "judge": ["slow"], "kind": "TEST", "annotator": ann.pk}
    fields["prompt"] = "PAIRWISE"
    said = "slow wrote 4.0 tokens a second, so its longest reply (1,024 tokens) takes about 256 s"
    assert said in manager.post("/runs/new/estimate/", fields).content.decode()
    assert said in manager.post("/runs/new/", fields, follow=True).content.decode()


def test_what_does_not_fit_the_context_is_refused_with_the_cost_and_at_the_start(manager):
    _stage, ann = study()
    small = make_endpoint(name="small", found_context_tokens=64)
    fields = {"dataset": "study", "judge": ["small"], "kind": "TEST", "annotator": ann.pk}
    fields["prompt"] = "PAIRWISE"
    said = "The longest request does not fit into the model&#x27;s context."
    assert said in manager.post("/runs/new/estimate/", fields).content.decode()
    assert said in manager.post("/runs/new/", fields).content.decode()
    assert not JudgeRun.objects.exists()
    small.found_context_tokens = 1024
    small.save()
    said = "small takes 1,024 tokens, and the longest request has between"
    assert said in manager.post("/runs/new/estimate/", fields).content.decode()
    assert said in manager.post("/runs/new/", fields, follow=True).content.decode()


def test_how_verdicts_are_read_is_asked_of_comparisons_alone():
    stage, _ann = study()
    form = RunForm(
        {"kind": "SATISFACTION", "judge": ["lexical"], "verdict": "LOGPROB"}, dataset=stage.dataset
    )
    assert form.is_valid(), form.errors
    assert form.cleaned_data["verdict"] == ""
    asked = {field.name: kinds for kinds, field in form.rows()}
    assert (asked["verdict"], asked["prompt"], asked["judge"]) == ("DISTIL TEST", "TEST", "")


@pytest.mark.parametrize("skipped", [True, False])
def test_the_other_annotators_judges_are_asked_unless_one_says_not_to(skipped):
    stage, _ann = study()
    fields = {"kind": "TEST", "judge": ["lexical"], "annotator": ""}
    form = RunForm(fields | ({"no_control": "on"} if skipped else {}), dataset=stage.dataset)
    assert form.is_valid()
    (request,) = form.requests(dataset=stage.dataset, by=make_user(role="MANAGER"))
    assert request.with_control is not skipped


def test_the_page_asks_who_distils_who_selects_and_who_builds_memories(manager):
    stage, ann = study()
    make_endpoint(name="writer")
    make_endpoint(name="chooser")
    shared = {"dataset": "study", "annotator": str(ann.pk), "judge": "chooser"}
    manager.post("/runs/new/", {**shared, "kind": "DISTIL", "distiller": "writer"})
    run = JudgeRun.objects.get(kind="DISTIL")
    assert (run.judge, run.writer) == ("chooser", "writer")
    assert "distilled by writer" in manager.get(f"/runs/{run.pk}/").content.decode()
    # What another kind asks is left out.
    make_rating(stage.comparisons["Code"][0].response_a, annotator=ann)
    fields = {**shared, "kind": "SATISFACTION", "memory_judge": "writer", "distiller": "lexical"}
    manager.post("/runs/new/", fields)
    assert JudgeRun.objects.get(kind="SATISFACTION").writer == "writer"

    JudgeRun.objects.filter(pk=run.pk).update(status="DONE")
    page = manager.get("/runs/new/?dataset=study&kind=TEST").content.decode()
    assert "chooser, distilled by writer" in page
    fields = {**shared, "kind": "TEST", "judge": "lexical", "sets": "chooser:writer"}
    refusal = manager.post("/runs/new/", fields).content.decode()
    assert "only reads preferences and memories that it wrote itself" in refusal
    manager.post("/runs/new/", {**fields, "judge": "writer"})
    test = JudgeRun.objects.get(kind="TEST")
    assert (test.judge, test.parent) == ("writer", run)
    page = manager.get(f"/trust/?dataset=study&annotator={ann.pk}&run={test.pk}")
    assert "preferences selected by chooser, distilled by writer" in page.content.decode()


def test_a_run_of_comparisons_is_filtered_as_the_command_does(manager):
    stage, ann = study()
    sessions = [each.turn.session for each in stage.comparisons["Code"]]
    for session, language in zip(sessions, ["zh-CN", "en", "en", "en"], strict=True):
        session.language = language
        session.save()
    form = RunForm(None, dataset=stage.dataset)
    kinds = {field.name: kind for kind, field in form.rows()}
    assert {kinds["scenario"], kinds["model"], kinds["language"]} == {"TEST SATISFACTION"}
    model = stage.comparisons["Code"][0].response_a.model
    filters = {"scenario": ["Code"], "language": ["en", "zh"], "model": [model]}
    answer = manager.post(
        "/runs/new/",
        {"dataset": "study", "judge": "lexical", "kind": "TEST", "annotator": ann.pk}
        | {"sets": "none", "targets": "all", **filters},
    )
    run = JudgeRun.objects.get()
    assert answer.url == f"/runs/{run.pk}/"
    asked = run.config["targets"]
    assert (asked["scenarios"], asked["models"]) == (["Code"], [model])
    assert asked["languages"] == ["en", "zh"]
    assert {row.comparison.turn.session.scenario.name for row in run.judgments.all()} == {"Code"}


@pytest.mark.parametrize("judge", ["lexical", "fake"])
def test_the_base_judge_needs_nothing_learned(manager, judge):
    _stage, ann = study()
    make_endpoint(name="fake")
    everybody = {"dataset": "study", "judge": judge, "kind": "TEST", "annotator": ""}
    refused = manager.post("/runs/new/", everybody)
    assert "Distil preferences first" in refused.content.decode()
    # What was learned elsewhere has no say in it either.
    elsewhere = Stage.make(slug="other", name="Other")
    elsewhere.distilled(elsewhere.rater("bob"))
    manager.post("/runs/new/", {**everybody, "sets": "none", "learned_in": "other"})
    run = JudgeRun.objects.get(kind="TEST")
    assert (run.annotator, run.parent, run.config["sets_of"]) == (ann, None, None)
    assert run.judgments.count() == 16  # eight comparisons in both orders
    assert {row.preference.kind for row in run.judgments.all()} == {"EMPTY"}


def test_a_link_to_judge_begins_with_what_works(manager):
    stage, ann = study()

    def begun(**asked):
        fields = manager.get("/runs/new/", {"dataset": "study", **asked}).context["form"].initial
        return fields["judge"], fields["sets"]

    assert begun() == (["lexical"], "")
    assert begun(kind="TEST") == (["lexical"], "none")
    fake = make_endpoint(name="fake")
    assert begun() == (["lexical"], "")
    assert begun(kind="TEST") == (["fake"], "none")
    assert begun(kind="TEST", judge="lexical") == (["lexical"], "none")
    run = stage.distilled(ann)
    JudgeRun.objects.filter(pk=run.pk).update(judge="fake", endpoint=fake, writer="lexical")
    assert begun(kind="TEST") == (["fake"], "")
    page = manager.get(f"/runs/{run.pk}/").content.decode()
    links = re.findall(r'href="(/runs/new/[^"]*)"', page)
    assert [link.endswith("&amp;targets=unlabelled") for link in links] == [True, False]
    for link in links:
        page = manager.get(link.replace("&amp;", "&"))
        form = page.context["form"]
        assert (form.initial["judge"], form.initial["sets"]) == (["fake"], "fake:lexical")
        assert '<option value="fake:lexical" selected' in page.content.decode()
    fake.enabled = False
    fake.save()
    assert begun(kind="TEST") == (["lexical"], "none")


def test_where_nobody_labelled_all_comparisons_are_to_be_judged(manager):
    def begun():
        fields = manager.get("/runs/new/", {"dataset": "data"}).context["form"].initial
        return fields["kind"], fields["targets"]

    dataset = make_dataset(slug="data")
    assert begun() == ("DISTIL", "")
    comparison = make_comparison(make_turn(make_session(make_scenario(dataset))))
    assert begun() == ("TEST", "all")
    make_label(comparison)
    assert begun() == ("DISTIL", "")
