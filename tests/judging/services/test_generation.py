from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from django.db.models import Max, Min

from annotation.core.refusals import Refused
from annotation.models import Response
from judging.core.generation import SnippetSpace as Space
from judging.core.rules import AnsweredTurns, GenerationContext, GenerationSettings
from judging.core.targets import Targets
from judging.models import (
    GeneratedResponse,
    JudgeRun,
    LlmCall,
    ModelEndpoint,
    RunKind,
    UserMemory,
)
from judging.queries.generation import (
    families_of_endpoints,
    families_of_judges,
    families_of_runs,
    generation_totals,
    judges_of_family,
)
from judging.services import generation
from judging.services.batches import IdRange
from judging.services.endpoints import set_budget
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.run_control import reset_failed
from judging.services.run_requests import RunRequest
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db


class Echo(FakeLlm):
    """Says how often it was asked, its temperature, and what it was asked last."""

    def _act(self, body):
        number = self.stats()["calls"]
        if (scripted := super()._act(body)) != Act():
            return scripted
        return Act(text=f"{number} at {body['temperature']}: {body['messages'][-1]['content']}")


@pytest.fixture
def server():
    with Echo() as server:
        yield server


@pytest.fixture
def endpoint(server):
    return make_endpoint(name="fake", base_url=server.base_url, model="gpt-fake", concurrency=2)


def request(dataset, *, targets=None, judge="fake", batch_file=False, **settings):
    return RunRequest(
        kind=RunKind.GENERATE,
        dataset=dataset,
        judge=judge,
        targets=targets or Targets(),
        generation=GenerationSettings(**settings),
        batch_file=batch_file,
    )


def planned(dataset, **asked):
    (run,) = plan(request(dataset, **asked))
    return run


def generated(dataset, **asked):
    return run_to_end(start(planned(dataset, **asked)).pk)


def questions(*numbers):
    """MT-Bench's shape: two questions a session, nothing answered."""
    dataset = make_dataset()
    scenario = make_scenario(dataset, name="writing")
    for number in numbers:
        session = make_session(scenario, key=f"s{number}", language="en")
        make_turn(session, user_message=f"First {number}")
        make_turn(session, user_message=f"Then {number}")
    return dataset


def test_second_turns_continue_the_model_s_own_first(server, endpoint):
    dataset = questions(1, 2, 3)
    run = generated(dataset, temperature=0.3, max_tokens=50)
    assert (run.status, run.error_code) == ("DONE", "")
    assert server.stats()["calls"] == 6
    rows = list(GeneratedResponse.objects.order_by("pk").select_related("response", "turn", "call"))
    assert [row.turn.position for row in rows] == [0, 0, 0, 1, 1, 1]  # first turns first
    for first, second in zip(rows[:3], rows[3:], strict=True):
        assert second.previous == first
        assert first.response.continues is None
        assert second.response.continues == first.response
        asked = second.call.request
        assert [each["content"] for each in asked["messages"]] == [
            first.turn.user_message,
            first.response.text,
            second.turn.user_message,
        ]
        assert (asked["temperature"], asked["max_tokens"]) == (0.3, 50)
        assert (second.response.model, second.response.variant) == ("gpt-fake", "")
        assert second.response.original is False
    again = generated(dataset, temperature=0.3, max_tokens=50)
    totals = generation_totals(again.pk)
    assert (totals.generated, totals.responses, totals.progress.calls) == (6, 0, 0)
    assert server.stats()["calls"] == 6
    assert GeneratedResponse.objects.filter(run=run, is_new=True).count() == 6


def test_a_budget_ends_a_generation_and_with_more_it_goes_on(server, endpoint):
    ModelEndpoint.objects.filter(pk=endpoint.pk).update(input_price=0, output_price=1000)
    dataset = questions(1, 2, 3)
    # A reply of at most 50 tokens costs 0.05 at most.
    (wanted,) = plan(replace(request(dataset, max_tokens=50), budget=Decimal("0.06")))
    run = run_to_end(start(wanted).pk)
    assert run.error_code == "budget:spent"
    calls = server.stats()["calls"]
    totals = generation_totals(run.pk)
    assert 0 < totals.generated == calls < 6
    assert totals.progress.cost <= run.held <= run.budget
    set_budget(run.pk, Decimal(1))
    reset_failed(run.pk)
    assert run_to_end(run.pk).error_code == ""
    assert generation_totals(run.pk).generated == server.stats()["calls"] == 6


def test_fixed_prefixes_hold_the_original_responses(server, endpoint):
    dataset = make_dataset()
    session = make_session(make_scenario(dataset), system_prompt="Be brief.")
    for number in range(2):
        turn = make_turn(session, user_message=f"Q{number}")
        make_response(turn, text=f"Original {number}", original=True, model="")
    run = generated(dataset, turns=AnsweredTurns.LAST)
    (row,) = run.generated.all()
    assert row.response.continues is None
    assert [each["content"] for each in row.call.request["messages"]] == [
        "Be brief.",
        "Q0",
        "Original 0",
        "Q1",
    ]
    other = generated(dataset, turns=AnsweredTurns.LAST, system="Be long.")
    (row,) = other.generated.all()
    assert row.call.request["messages"][0]["content"] == "Be long."
    assert Response.objects.filter(model="gpt-fake").count() == 2


def test_samples_are_calls_of_their_own_and_equal_ones_one_response(server, endpoint):
    dataset = questions(1)
    server.told = {"Then": Act(text="Same")}
    run = generated(dataset, samples=3)
    firsts = run.generated.filter(turn__position=0)
    assert len({row.response_id for row in firsts}) == 3
    assert sorted(row.call.sample_index for row in firsts) == [0, 1, 2]
    seconds = run.generated.filter(turn__position=1)
    assert len({row.call_id for row in seconds}) == 3
    (same,) = {row.response for row in seconds}
    assert same.text == "Same"
    assert [row.is_new for row in seconds.order_by("pk")].count(True) == 1
    assert {row.previous for row in seconds} == set(firsts)


def test_what_failed_is_asked_again_with_what_would_have_continued_it(server, endpoint):
    dataset = questions(1, 2)
    server.told = {"First 1": Act(text="")}
    run = generated(dataset)
    errors = dict(run.generated.exclude(error_code="").values_list("error_code", "status"))
    assert errors == {"llm:no-answer": "UNPARSEABLE", "generate:no-previous": "FAILED"}
    server.told = {"Then 2": Act(status=400)}
    LlmCall.objects.all().delete()
    failed = generated(dataset, samples=2, targets=Targets(sample=1))
    assert failed.generated.filter(status="DONE").exists()
    server.told = {}
    reset_failed(run.pk)
    LlmCall.objects.filter(reply="").delete()
    GeneratedResponse.objects.filter(status="UNPARSEABLE").update(status="PENDING", error_code="")
    assert run_to_end(run.pk).status == "DONE"
    assert set(run.generated.values_list("status", flat=True)) == {"DONE"}


def test_stored_own_replies_are_not_asked_for_again(server, endpoint):
    dataset = questions(1)
    server.told = {"Then 1": Act(text="")}
    run = generated(dataset)
    first = run.generated.get(turn__position=0)
    LlmCall.objects.all().delete()  # as if every call had another key
    server.told = {}
    run.generated.filter(status="UNPARSEABLE").update(status="PENDING", error_code="")
    reset_failed(run.pk)
    asked = server.stats()["calls"]
    assert run_to_end(run.pk).status == "DONE"
    assert server.stats()["calls"] == asked + 1
    second = run.generated.get(turn__position=1)
    assert second.response.continues_id == first.response_id
    assert second.call.request["messages"][1]["content"] == first.response.text


def test_replies_of_another_model_are_not_taken_for_the_first_one_s(server, endpoint):
    run = start(planned(questions(1)))
    endpoint.model = "other"
    endpoint.save()
    ended = run_to_end(run.pk)
    assert (ended.status, ended.error_code) == ("FAILED", "run:model-changed")
    assert (LlmCall.objects.count(), Response.objects.count()) == (0, 0)
    endpoint.model = "gpt-fake"
    endpoint.save()
    assert reset_failed(run.pk) == 2
    assert run_to_end(run.pk).status == "DONE"


def test_a_memory_is_shown_in_the_language_of_each_conversation(endpoint):
    dataset, user = rated_user(target_score=3)
    scenario = dataset.scenarios.get(name="travel")
    memory(user, scenario, "Likes maps.")
    chinese = make_session(scenario, key="zh", original_user=user, language="zh")
    make_turn(chinese, user_message="去哪里")
    run = generated(
        dataset,
        targets=Targets(scenarios=("travel",)),
        context=GenerationContext.COMPRESSED,
    )
    shown = {
        row.turn.session.key: row.call.request["messages"][0]["content"]
        for row in run.generated.select_related("call", "turn__session")
    }
    assert "Scoring style: Likes maps." in shown["travel"]
    assert "Scoring style:" not in shown["zh"]


def test_histories_are_not_indexed_while_questions_are_loaded(endpoint, monkeypatch):
    built = []
    monkeypatch.setattr(generation, "SnippetSpace", lambda said: built.append(1) or Space(said))
    dataset, _user = rated_user(target_score=3)
    run = start(planned(dataset, context=GenerationContext.MEMORY))
    ids = run.generated.aggregate(first=Min("pk"), last=Max("pk"))
    tasks = generation.load_generation(run, IdRange(**ids))
    assert (len(tasks), built) == (9, [])
    for task in tasks:
        assert task.question(task.own[-1][0], {}).memory
    assert built == [1]  # once a user


@pytest.mark.parametrize("stored", [False, True])
def test_an_estimate_counts_second_turns_and_what_is_stored(server, endpoint, stored):
    dataset = questions(1, 2)
    if stored:
        generated(dataset)
    found = estimate(planned(dataset))
    assert [stage.questions for stage in found.stages] == [2, 2]
    assert (found.calls, found.stored) == ((0, 4) if stored else (4, 0))


def test_filters_and_a_sample_are_of_conversations(endpoint):
    dataset = questions(1, 2, 3)
    session = make_session(make_scenario(dataset, name="math"), key="zh", language="zh-Hans")
    make_turn(session, user_message="算一算")
    make_turn(session, user_message=" ")
    for targets, count in (
        (Targets(sample=2), 4),
        (Targets(scenarios=("math",)), 1),
        (Targets(languages=("zh",)), 1),
        (Targets(scenarios=("math",), languages=("en",)), 0),
    ):
        if count:
            run = start(planned(dataset, targets=targets))
            assert run.generated.count() == count
        else:
            with pytest.raises(Refused, match="no turn of"):
                planned(dataset, targets=targets)


@pytest.mark.parametrize(
    ("judge", "code"),
    [
        ("lexical", "generate:no-endpoint"),
        (None, "generate:no-endpoint"),
        ("nobody", "judge:unknown"),
        ("scores", "judge:only-scores"),
    ],
)
def test_only_a_chat_endpoint_generates(judge, code):
    make_endpoint(name="scores", has_scores=True)
    with pytest.raises(Refused) as refused:
        planned(questions(1), judge=judge)
    assert refused.value.code == code


SENTINEL = "SENTINEL"


def rated_user(*, target_score):
    """A user with rated conversations in three scenarios; whatever says SENTINEL is of labels."""
    dataset, user = make_dataset(), make_user()
    for position, name in enumerate(("travel", "cooking", "gifts")):
        scenario = make_scenario(dataset, name=name, position=position)
        session = make_session(scenario, key=name, original_user=user, language="en")
        for number in range(3):
            turn = make_turn(session, user_message=f"{name} question {number}")
            reply = make_response(turn, text=f"{name} reply {number}", original=True)
            make_rating(
                reply,
                annotator=user,
                score=target_score if name == "travel" else 4,
                reason="OTHER" if name == "travel" and target_score < 4 else None,
                comment=SENTINEL,
            )
    return dataset, user


def memory(user, scenario, style):
    statement = {"text": style, "turn_ids": []}
    texts = {
        **dict.fromkeys(
            (
                "scoring_style",
                "four_vs_five_distinction",
                "three_vs_four_distinction",
                "preferred_response_format",
            ),
            statement,
        ),
        "user_specific_requirements": [],
        "task_specific_observations": [],
    }
    UserMemory.objects.create(
        run=make_run(scenario.dataset, kind="SATISFACTION"),
        user=user,
        target_scenario=scenario,
        judge="lexical",
        status="DONE",
        statistics={"counts": [0, 0, 0, 6, 0], "sessions": 2, "scenarios": []},
        texts=texts,
    )


def prompts_of(context, *, target_score):
    """What is sent for the travel turns; ids of rows are in none of it."""
    dataset, user = rated_user(target_score=target_score)
    for scenario in dataset.scenarios.all():
        built_from_others = scenario.name == "travel"
        memory(user, scenario, "Likes maps." if built_from_others else SENTINEL)
    run = start(planned(dataset, targets=Targets(scenarios=("travel",)), context=context))
    assert run_to_end(run.pk).status == "DONE"
    variants = set(run.generated.values_list("response__variant", flat=True))
    calls = [row.call for row in run.generated.select_related("call").order_by("pk")]
    return [call.request["messages"] for call in calls], variants


@pytest.mark.parametrize("shown_context", list(GenerationContext))
def test_no_label_of_the_target_scenario_reaches_a_prompt(shown_context, endpoint):
    context = shown_context
    low, variants = prompts_of(context, target_score=1)
    LlmCall.objects.all().delete()
    high, _ = prompts_of(context, target_score=5)
    assert low == high
    assert variants == {"" if context is GenerationContext.PREFIX else context.value.lower()}
    assert SENTINEL not in str(low)
    for number, messages in enumerate(low):
        shown = messages[0]["content"] if messages[0]["role"] == "system" else ""
        said = [each["content"] for each in messages if each["role"] != "system"]
        assert said[-1] == f"travel question {number}"
        assert len(said) == 2 * number + 1
        assert "travel reply" not in shown
        replies = [shown.count(f"{name} reply") for name in ("cooking", "gifts")]
        match context:
            case GenerationContext.PREFIX:
                assert shown == ""
            case GenerationContext.COMPRESSED:
                assert "Scoring style: Likes maps." in shown
                assert sum(replies) == 0
            case GenerationContext.DIVERSE:
                assert shown.count("<turn>") == 4
                # Round-robin: two turns of each of the two other scenarios.
                names = [part.split("\n")[0] for part in shown.split("<scenario>\n")[1:]]
                assert names[:2] == names[2:]
                assert sorted(names[:2]) == ["cooking", "gifts"]
            case GenerationContext.MEMORY:
                assert shown.count("<turn>") == 4
                assert "score" not in shown.lower()


@pytest.mark.parametrize(
    ("word", "code"),
    [("MEMORY", "generate:no-history"), ("COMPRESSED", "generate:no-memory")],
)
def test_a_context_of_which_nothing_is_known_is_refused_or_said_of_the_turn(word, code, endpoint):
    with pytest.raises(Refused) as refused:
        planned(questions(1), context=GenerationContext(word))
    assert refused.value.code == code
    dataset, user = rated_user(target_score=3)
    memory(user, dataset.scenarios.get(name="travel"), "Likes maps.")
    make_turn(make_session(dataset.scenarios.get(name="travel")))
    run = generated(
        dataset, targets=Targets(scenarios=("travel",)), context=GenerationContext(word)
    )
    assert run.status == "DONE"
    assert list(run.generated.exclude(status="DONE").values_list("error_code", flat=True)) == [code]


def test_models_of_a_judge_s_family_are_named(endpoint):
    dataset = questions(1)
    make_endpoint(name="judge", model="openai/gpt-9")
    make_endpoint(name="other", model="qwen-7b")
    named = judges_of_family(dataset.pk, ["gpt-fake", "claude"])
    assert named == [("gpt", ("judge",), ("gpt-fake",))]
    generated(dataset)
    assert judges_of_family(dataset.pk, ["gpt-fake"]) == named
    make_run(dataset, judge="fake", endpoint=endpoint)
    assert judges_of_family(dataset.pk, ["gpt-fake"])[0].judges == ("fake", "judge")
    run = make_run(dataset, judge="judge", endpoint=make_endpoint(model="gpt-9"))
    recorded = make_run(dataset, judge="gpt-4_pair", kind="RECORDED")
    assert families_of_judges([run, recorded]) == [("gpt", ("gpt-4_pair", "judge"), ("gpt-fake",))]
    assert families_of_judges([make_run(dataset)]) == []
    assert families_of_judges([JudgeRun.objects.get(kind="GENERATE")]) == []


def test_equal_requests_join_the_run_under_way(endpoint):
    dataset = questions(1)
    first = start(planned(dataset))
    second = start(planned(dataset))
    assert (second.pk, second.attached) == (first.pk, True)
    assert start(planned(dataset, samples=2)).pk != first.pk


def test_judges_of_a_family_are_found_by_run_and_by_name():
    dataset = make_dataset()
    turn = make_turn(make_session(make_scenario(dataset)))
    make_response(turn, model="gpt-fake")
    run = make_run(dataset, kind="RECORDED", judge="gpt-4_pair")
    assert families_of_runs([run.pk]) == [("gpt", ("gpt-4_pair",), ("gpt-fake",))]
    assert families_of_runs([]) == []
    make_endpoint(name="mine", model="gpt-5")
    found = families_of_endpoints(dataset.pk, ["mine", "lexical"])
    assert found == [("gpt", ("mine",), ("gpt-fake",))]
    assert families_of_endpoints(dataset.pk, ["lexical"]) == []


def test_what_the_model_thought_is_kept_beside_its_response(server, endpoint):
    turn = make_turn(make_session(), user_message="p")
    server.script.append(Act(text="[THINK]hm[/THINK]yes"))
    generated(turn.session.dataset)
    response = Response.objects.get(turn=turn)
    assert (response.text, response.extra) == ("yes", {"reasoning": "hm"})
