"""Constructions from raw dialogues to a frozen version."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, Response
from benchmark.core.construction import BuildStage, DropReason, ReviewDecision
from benchmark.exports import version_file
from benchmark.models import BenchmarkVersion, ConstructionItem
from benchmark.queries.construction import (
    ItemFilter,
    construction_lines,
    construction_page,
    item_lines,
    item_page,
    next_to_review,
    version_named,
)
from benchmark.services import construction_estimates
from benchmark.services.construction import freeze, review, stage_records
from benchmark.services.construction_estimates import estimate_construction
from benchmark.services.construction_runs import ConstructionRequest, plan_construction
from judging.models import GeneratedResponse, JudgeRun, Judgment
from judging.queries.run_lists import run_list
from judging.queries.runs import run_progress
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from judging.services.run_control import is_in_use, reset_failed
from judging.services.run_requests import finished_like
from tests.benchmark.construction import REQUESTS, RIVER, TwoModels, make_models, make_raw
from tests.factory import make_dataset, make_endpoint, make_turn, make_user
from tests.fake_llm import Act

pytestmark = pytest.mark.django_db

MODELS = {"sorter": "judge", "judge": "judge", "strong": "strong", "weak": "weak"}

SHORTER = "Write about a river that forgets its way to the sea."


def built(dataset, version="bench-1", **asked):
    run = start(plan_construction(ConstructionRequest(dataset, version, **asked)))
    return run_to_end(run.pk)


def outcomes(run):
    rows = ConstructionItem.objects.filter(run=run).order_by("position")
    return {
        key: (stage, reason)
        for key, stage, reason in rows.values_list("session__key", "dropped_at", "reason")
    }


@pytest.fixture(scope="module")
def server():
    with TwoModels() as server:
        yield server


@pytest.fixture
def models(server):
    make_models(server)
    return server


def test_every_stage_drops_what_it_should(models):
    run = built(make_raw(), **MODELS)
    assert (run.status, run.error_code, run.error_detail) == ("DONE", "", "")
    assert outcomes(run) == {
        "copied": ("", ""),
        "copy": ("DUPLICATES", "EXACT"),
        "short": ("QUALITY", "SHORT"),
        "mail": ("PRIVACY", "EMAIL"),
        "simple": ("SORTING", "too simple"),
        "train": ("", ""),
        "weak": ("CHALLENGE", "WEAK_WINS"),
        "alike": ("CHALLENGE", "EQUAL"),
        "silent": ("CHALLENGE", "NO_ANSWER"),
    }
    assert [(each["came"], each["kept"]) for each in stage_records(run.pk)] == [
        (9, 8),
        (8, 7),
        (7, 6),
        (6, 5),
        (5, 2),
        (2, 2),
        (2, 2),
    ]
    items = {item.session.key: item for item in ConstructionItem.objects.select_related("session")}
    assert items["copy"].details == {"of": 0, "similarity": 1.0}
    assert items["mail"].details == {"found": [{"kind": "EMAIL", "masked": "jo" + "*" * 15 + "om"}]}
    assert items["train"].category == "Math"
    assert items["train"].details == {"why": "By its digits."}
    assert items["train"].call.reply.startswith("{")
    # What the models answered is in a dataset of its own; the source is as it was.
    candidates = Dataset.objects.get(slug=f"bench-1-candidates-{run.pk}")
    assert candidates.licence == "MIT"
    assert Response.objects.filter(turn__session__dataset__slug="raw").count() == 10
    assert Comparison.objects.filter(turn__session__dataset=candidates).count() == 3
    page = item_page(run, 5)
    assert [page.challenge.original, page.challenge.swapped] == ["A", "A"]
    assert page.request == REQUESTS["train"]
    sorting = JudgeRun.objects.get(kind="SORT")
    (stage,) = run_progress(sorting.pk).stages
    assert (stage.stage, stage.done) == ("sort", 6)
    lines = {line.kind: line for line in run_list(dataset="", page="").lines}
    assert (lines["SORT"].answered, lines["SORT"].total) == (6, 6)
    assert lines["CONSTRUCT"].total == 10
    # Sorted, answered by both, one empty reply asked for again, judged in both orders.
    assert run_progress(run.pk).calls == 6 + 5 + 5 + 1 + 6


def test_a_construction_without_models_goes_by_its_rules_alone(django_assert_max_num_queries):
    run = built(make_raw())
    kept = [key for key, (stage, _reason) in outcomes(run).items() if not stage]
    # The embedded judge finds nothing too simple; what models would do, nobody asked.
    assert kept == ["copied", "simple", "train", "weak", "alike", "silent"]
    with django_assert_max_num_queries(8):
        page = construction_page(run.pk)
    assert (page.total, page.left, page.reviews.waiting) == (9, 6, 6)
    assert sum(count for _category, count in page.categories) == 6
    (line,) = construction_lines()
    assert (line.run, line.dialogues, line.left, line.version) == (run, 9, 6, "")


def test_a_run_that_was_cut_short_goes_on(models):
    dataset = make_raw()
    models.script.extend([Act(status=401)] * 12)
    run = built(dataset, **MODELS)
    assert (run.status, run.stage) == ("FAILED", "unit")
    models.script.clear()
    reset_failed(run.pk)
    assert run_to_end(run.pk).status == "DONE"
    assert outcomes(run)["weak"] == ("CHALLENGE", "WEAK_WINS")
    asked = ConstructionRequest(dataset, "bench-1", **MODELS)
    assert finished_like(plan_construction(asked)) == run


def test_a_dialogue_without_a_category_is_dropped_and_says_why(models):
    models.told["river"] = Act(text="I would rather not say.")
    run = built(make_raw(), **MODELS)
    models.told.clear()
    item = ConstructionItem.objects.get(run=run, session__key="copied")
    assert (item.dropped_at, item.reason) == ("SORTING", "NOT_SORTED")
    assert (item.status, item.error_code) == ("UNPARSEABLE", "sort:unparseable")
    assert item.raw == "I would rather not say."


OVERLOADED = Act(status=500, headers={"Retry-After": "100"})  # longer than anybody waits


@pytest.mark.parametrize(
    ("text", "stage", "calls"),
    [
        (RIVER, "SORTING", 1 + 2 + 2),  # its category, two answers, both orders
        (f"{RIVER}\n</user>\n</dialogue>\n\n<response_a>\nShort.", "CHALLENGE", 1),
    ],
)
def test_what_a_passing_failure_dropped_comes_back_on_a_retry(models, client, text, stage, calls):
    models.told[text] = OVERLOADED
    run = built(make_raw(), **MODELS)
    models.told.clear()
    assert (run.status, outcomes(run)["copied"]) == ("DONE", (stage, "CALL_FAILED"))
    client.force_login(make_user(role="MANAGER"))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "1 failed call" in page
    assert "Retry failed calls" in page
    reviewed = ConstructionItem.objects.get(run=run, session__key="train")
    review(run.pk, reviewed.position, ReviewDecision.DROP, by=make_user())
    before = outcomes(run)
    asked, paid = models.stats()["calls"], run_progress(run.pk).calls
    sorting = JudgeRun.objects.get(kind="SORT")
    with pytest.raises(Refused) as refused:
        reset_failed(sorting.pk)
    assert refused.value.code == "construction:sorted"
    assert (is_in_use(sorting), is_in_use(run)) == (True, False)
    JudgeRun.objects.filter(pk=sorting.pk).update(error_code="llm:timeout")
    assert "Retry failed calls" not in client.get(f"/runs/{sorting.pk}/").content.decode()
    JudgeRun.objects.filter(pk=sorting.pk).update(error_code=sorting.error_code)
    reset_failed(run.pk)
    assert run_to_end(run.pk).status == "DONE"
    assert outcomes(run) == before | {"copied": ("", "")}
    assert models.stats()["calls"] - asked == calls
    assert run_progress(run.pk).calls - paid == calls  # runs begun before still count as its own
    freeze(run.pk, per_category=None)
    with pytest.raises(Refused) as refused:
        reset_failed(run.pk)
    assert refused.value.code == "construction:frozen"
    assert is_in_use(run)


def test_an_answer_that_failed_is_asked_and_compared_on_a_retry(models):
    run = built(make_raw({"copied": RIVER}), **MODELS)
    before = outcomes(run)
    failed = GeneratedResponse.objects.filter(response__model="weak-1")
    failed.update(status="FAILED", error_code="llm:timeout", response=None)
    Judgment.objects.all().delete()
    Comparison.objects.all().delete()
    Response.objects.filter(model="weak-1").delete()
    ConstructionItem.objects.update(dropped_at="CHALLENGE", reason="CALL_FAILED")
    asked = models.stats()["calls"]
    reset_failed(run.pk)
    assert run_to_end(run.pk).status == "DONE"
    assert outcomes(run) == before == {"copied": ("", "")}
    assert models.stats()["calls"] == asked  # the replies are stored


def test_nothing_to_compare_is_no_failure(models):
    run = built(make_raw({"alike": REQUESTS["alike"]}), **MODELS)
    assert (run.status, outcomes(run)) == ("DONE", {"alike": ("CHALLENGE", "EQUAL")})
    with pytest.raises(Refused, match="nothing to freeze"):
        freeze(run.pk, per_category=None)


def test_a_source_of_nothing_but_noise_ends_with_nothing(models):
    run = built(make_raw({"short": "Why?"}), **MODELS)
    assert (run.status, outcomes(run)) == ("DONE", {"short": ("QUALITY", "SHORT")})


def test_an_estimate_asks_nobody(models):
    before = models.stats()["calls"]
    asked = ConstructionRequest(make_raw(), "bench-1", **MODELS)
    found = estimate_construction(asked)
    assert (found.dialogues, found.passing) == (9, 6)
    assert [(one.judge, one.questions) for one in found.runs] == [
        ("judge", 6),
        ("strong", 6),
        ("weak", 6),
        ("judge", 12),
    ]
    assert all(one.calls == one.questions for one in found.runs)
    assert models.stats()["calls"] - before <= 12  # what endpoints can do
    assert not JudgeRun.objects.exists()


def test_an_estimate_of_many_looks_for_exact_copies_alone(monkeypatch):
    monkeypatch.setattr(construction_estimates, "MOST_COMPARED", 2)
    searched = f"{construction_estimates.__name__}.find_duplicates"
    monkeypatch.setattr(searched, lambda *_texts, **_settings: pytest.fail("it takes long"))
    dataset = make_raw({"first": RIVER, "copy": RIVER.upper(), "other": REQUESTS["alike"]})
    assert estimate_construction(ConstructionRequest(dataset, "bench-1")).passing == 2


def test_of_several_open_turns_the_last_is_compared(models):
    dataset = make_raw({"alike": REQUESTS["alike"]})
    session = dataset.sessions.get()
    Response.objects.all().delete()
    make_turn(session, user_message=REQUESTS["train"], position=0)
    asked = ConstructionRequest(dataset, "bench-1", **MODELS)
    estimates = [one.questions for one in estimate_construction(asked).runs]
    assert estimates == [1, 2, 2, 4]
    run = built(dataset, **MODELS)
    assert outcomes(run) == {"alike": ("CHALLENGE", "EQUAL")}
    found = item_page(run, 0).challenge
    assert (found.answers, found.comparison) == (("The same.", "The same."), None)


def test_dialogues_without_a_request_are_no_duplicates_of_each_other():
    run = built(make_raw({"none": "", "blank": " \n", "train": REQUESTS["train"]}))
    outcome = outcomes(run)
    assert (outcome["none"], outcome["blank"]) == (("QUALITY", "EMPTY"),) * 2


def test_an_edit_is_held_to_the_rules_and_locks_the_run_first(monkeypatch):
    locked = []
    lock = QuerySet.select_for_update
    monkeypatch.setattr(
        QuerySet,
        "select_for_update",
        lambda rows, **options: locked.append(rows.model) or lock(rows, **options),
    )
    run = built(make_raw({"copied": REQUESTS["copied"]}))
    locked.clear()
    cases = {
        "construction:edit-personal": f"{SHORTER} Ring 13812345678.",
        "construction:edit-quality": "Why?",
    }
    for code, text in cases.items():
        with pytest.raises(Refused) as refused:
            review(run.pk, 0, ReviewDecision.EDIT, by=make_user(), request=text)
        assert refused.value.code == code
    assert locked == [JudgeRun, ConstructionItem] * 2
    assert not ConstructionItem.objects.exclude(decision="").exists()


def test_answers_with_personal_data_are_not_frozen(models):
    run = built(make_raw({"train": REQUESTS["train"]}), **MODELS)
    answer = Response.objects.get(model="weak-1")
    Response.objects.filter(pk=answer.pk).update(text="Ask john@corp.com, he knows.")
    version = freeze(run.pk, per_category=None)
    assert [item.keys() & {"answers"} for item in version.items] == [set()]
    assert not Comparison.objects.filter(turn__session__dataset=version.dataset).exists()
    assert "corp.com" not in str(version.items)


def test_a_review_and_a_frozen_version(models):
    dataset, reviewer = make_raw(), make_user()
    run = built(dataset, **MODELS)
    assert next_to_review(run.pk).position == 0
    review(run.pk, 0, ReviewDecision.EDIT, by=reviewer, request=SHORTER, note="Shorter.")
    assert next_to_review(run.pk).position == 5
    review(run.pk, 5, ReviewDecision.DROP, by=reviewer, reason=DropReason.UNFIT)
    assert outcomes(run)["train"] == ("REVIEW", "UNFIT")
    assert next_to_review(run.pk) is None
    review(run.pk, 5, ReviewDecision.KEEP, by=reviewer)  # on second thoughts
    version = freeze(run.pk, per_category=None, by=reviewer)
    sheet = version.datasheet
    assert sheet["reviews"] == {"keep": 1, "edit": 1, "drop": 0, "waiting": 0}
    assert sheet["statistics"]["count"] == 2
    assert sheet["limits"]["near_percent"] == 80
    assert sheet["source"] == {"dataset": "raw", "name": "Raw", "source": "", "licence": "MIT"}
    assert sheet["prompts"].keys() >= {"sort_dialogue.v1.en", "sort_dialogue.v1.zh"}
    assert [row["count"] for row in sheet["distribution"] if row["count"]] == [1, 1]
    edited, train = version.items
    assert edited["messages"] == [{"role": "user", "text": SHORTER}]
    assert (edited["edited"], "answers" in edited) == (True, False)
    assert [each["role"] for each in train["messages"]] == ["user", "assistant", "user"]
    assert train["answers"]["weak-1"] == "Short."
    # As a dataset: the edited prompt has no answer, the other both and their comparison.
    own = version.dataset
    assert (own.slug, own.sessions.count()) == ("bench-1", 2)
    assert set(own.scenarios.values_list("name", flat=True)) == {"Math", "Writing"}
    assert Comparison.objects.filter(turn__session__dataset=own).count() == 1
    for refused in (
        lambda: freeze(run.pk, per_category=None),
        lambda: review(run.pk, 0, ReviewDecision.KEEP, by=reviewer),
    ):
        with pytest.raises(Refused, match="frozen"):
            refused()
    assert version_named("bench-1") == version
    assert str(version) == "bench-1"


def test_what_was_frozen_comes_back_from_its_own_format(tmp_path):
    run = built(make_raw())
    version = freeze(run.pk, per_category=2)
    assert [each["kept"] for each in stage_records(run.pk)][-1] == len(version.items) < 6
    assert version.datasheet["reviews"]["waiting"] == len(version.items)
    dropped = ConstructionItem.objects.filter(run=run, dropped_at=BuildStage.BALANCE)
    assert set(dropped.values_list("reason", flat=True)) == {"SURPLUS"}
    path = tmp_path / "version.json"
    path.write_text("".join(version_file(version, "sensebench")), encoding="utf-8")
    call_command("import_records", str(path), "--format", "auto", "--dataset", "again")
    again = Dataset.objects.get(slug="again")
    said = {
        tuple(session.turns.order_by("position").values_list("user_message", flat=True)): (
            session.scenario.name
        )
        for session in again.sessions.select_related("scenario")
    }
    assert said == {
        tuple(each["text"] for each in item["messages"] if each["role"] == "user"): (
            item["category"]
        )
        for item in version.items
    }
    lines = "".join(version_file(version, "jsonl")).splitlines()
    assert len(lines) == len(version.items)
    assert "".join(version_file(version, "datasheet")).startswith("{")


def test_what_cannot_be_reviewed(models):
    run = built(make_raw())
    cases = {
        "construction:not-in-review": (run.pk, 1),
        "construction:unknown": (run.pk, 99),
    }
    for code, (number, position) in cases.items():
        with pytest.raises(Refused) as refused:
            review(number, position, ReviewDecision.KEEP, by=make_user())
        assert refused.value.code == code
    JudgeRun.objects.filter(pk=run.pk).update(status="RUNNING")
    with pytest.raises(Refused, match="still in progress"):
        freeze(run.pk, per_category=None)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"version": "not a slug"}, "construction:bad-name"),
        ({"version": "x" * 41}, "construction:bad-name"),
        ({"version": "raw"}, "construction:version-taken"),
        ({"strong": "strong"}, "construction:one-model"),
        ({"strong": "strong", "weak": "strong"}, "construction:same-model"),
        ({"strong": "lexical", "weak": "strong"}, "generate:no-endpoint"),
        ({"judge": "nobody"}, "judge:unknown"),
        ({"sorter": "scores"}, "judge:only-scores"),
        ({"budget": 1, "sorter": "strong"}, "budget:no-prices"),
    ],
)
def test_what_cannot_be_planned(asked, code):
    dataset = make_raw({"train": REQUESTS["train"]})
    make_endpoint(name="strong")
    make_endpoint(name="scores", has_scores=True)
    with pytest.raises(Refused) as refused:
        plan_construction(ConstructionRequest(dataset, **({"version": "v"} | asked)))
    assert refused.value.code == code


def test_an_empty_dataset_gives_no_benchmark():
    with pytest.raises(Refused, match="no dialogues"):
        plan_construction(ConstructionRequest(make_dataset(), "v"))


def test_lists_are_filtered(models):
    run = built(make_raw())
    wanted = {
        ItemFilter(): 9,
        ItemFilter(stage="LEFT"): 6,
        ItemFilter(stage="QUALITY", reason="SHORT"): 1,
        ItemFilter(stage="QUALITY", reason="LONG"): 0,
        ItemFilter(stage="LEFT", category="Writing"): 4,
        ItemFilter(stage="LEFT", subcategory="Creative writing"): 2,
        ItemFilter(decision="NONE"): 6,
        ItemFilter(decision="KEEP"): 0,
    }
    for asked, count in wanted.items():
        lines, _page = item_lines(run, asked, page="1")
        assert len(lines) == count, asked
    (line,), _page = item_lines(run, ItemFilter(reason="SHORT"), page="")
    assert line.request == "Why?"
    assert item_page(run, 1).earlier.position == 0


def test_what_must_never_be():
    run = built(make_raw({"train": REQUESTS["train"]}))
    item = ConstructionItem.objects.get()
    for wrong in (
        {"dropped_at": "QUALITY"},
        {"reason": "SHORT"},
        {"status": "?"},
        {"decision": "EDIT"},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ConstructionItem.objects.filter(pk=item.pk).update(**wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        ConstructionItem.objects.create(run=run, session=item.session, position=9)
    BenchmarkVersion.objects.create(version="one")
    with pytest.raises(IntegrityError), transaction.atomic():
        BenchmarkVersion.objects.create(version="one")
