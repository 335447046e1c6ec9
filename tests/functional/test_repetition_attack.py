"""A judge that falls for a repeated list at a known rate: page, command and file tell that rate.

Of twelve responses with a list the server prefers the longer one, which says everything twice, in
both orders for five, in one order for three and in none for four.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.core.intervals import wilson
from judging.models import InjectionCheck, InjectionTrial, JudgeRun
from judging.services.foreground import run_to_end
from judging.services.run_control import reset_failed
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.fake_judge import inside
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db

FOOLED, FOOLED_ONCE, LISTS = 5, 3, 12
NAMES = ("rephrase_list", "remind_text")


class Verbose(FakeLlm):
    """Prefers the longer response of the first five, names the first shown of the next three.

    `instead` is what it says in place of a rephrased list, by number.
    """

    def __init__(self, *, instead=None, **options):
        super().__init__(**options)
        self.instead = instead or {}
        self.rephrased = Counter()

    def _act(self, body):
        if self.script:
            return self.script.popleft()
        prompt = body["messages"][0]["content"]
        number = int(re.search(r"Step 1 of (\d+)", prompt).group(1))
        if text := inside(prompt, "response"):
            self.rephrased[body["model"]] += 1
            again = text.replace("Step", "Again, Step")
            return Act(text=self.instead.get(number, f"Here it is:\n{again}"))
        first, second = inside(prompt, "response_a"), inside(prompt, "response_b")
        assert len(first) != len(second)
        assert max((first, second), key=len).count(f"Step 1 of {number}.") == 2
        longer = "A" if len(first) > len(second) else "B"
        said = {"A": "B", "B": "A"}[longer]
        if number < FOOLED:
            said = longer
        elif number < FOOLED + FOOLED_ONCE:
            said = "A"
        return Act(text=f"The final decision is Response {said}.")


@pytest.fixture
def dataset():
    """Twelve responses with a list beside as many without one."""
    dataset = make_dataset(slug="lists")
    scenario = make_scenario(dataset)
    for number in range(LISTS):
        turn = make_turn(make_session(scenario), user_message=f"How do I do it, {number}?")
        steps = "\n".join(f"{step}. Step {step} of {number}." for step in (1, 2, 3))
        listed = make_response(turn, text=f"So:\n\n{steps}\n\nDone.")
        make_comparison(turn, response_a=listed, response_b=make_response(turn, text="Just do."))
    return dataset


def endpoint(server, name="verbose", **fields):
    prices = {"input_price": 1, "output_price": 1, "max_tokens": 20}
    return make_endpoint(name=name, base_url=server.base_url, **{**prices, **fields})


def command(**options):
    out = StringIO()
    options = {"attack": "repetition", "dataset": "lists", "pairs": 100, **options}
    call_command("injection_check", stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def text_of(response):
    return " ".join(response.content.decode().split())


def test_the_share_of_fooled_verdicts_is_told_exactly_by_command_page_and_file(dataset, client):
    with Verbose() as server:
        endpoint(server)
        estimate = json.loads(command(judge="verbose", estimate=True, json=True))
        told = json.loads(command(judge="verbose", json=True))
        # Every list is rephrased once, and each response is judged in two orders.
        assert estimate["calls"] == server.stats()["calls"] == 3 * LISTS
        assert [stage["questions"] for stage in estimate["runs"][0]["stages"]] == [12, 24]
        assert server.rephrased == {"test-model": LISTS}
        lines = command(judge="verbose")
        assert server.stats()["calls"] == 3 * LISTS  # every reply is stored
    both = told["both"]
    assert (both["flipped"], both["read"], both["rate"]) == (5, 12, 5 / 12)
    assert (both["unreadable"], both["failed"], told["lost"], told["failed"]) == (0, 0, 0, 0)
    whole = wilson(5, 12)
    assert (both["low"], both["high"]) == (whole.low, whole.high)
    assert (told["second"]["flipped"], told["first"]["flipped"]) == (5, 8)
    assert (told["rephrased_by"], told["lists"]) == ("verbose", 12)
    assert [round(100 * share, 1) for share in told["paper"].values()] == [91.3, 91.3, 8.7]
    assert "repetition preferred in both orders: 5 of 12 preferred, 41.7 % (" in lines
    assert "shown first: 8 of 12 preferred, 66.7 %" in lines
    assert "GPT-4 in the paper: 2 of 23, 8.7 %" in lines

    client.force_login(make_user(role="VIEWER"))
    check = reverse("judging:injection-check", args=[told["check"]])
    for page in (client.get(check), client.get(reverse("judging:injections"))):
        shown = text_of(page)
        assert re.search(r"outcome=both\">\s*41\.7\s*%", shown)
        assert f"{whole.low * 100:.1f}" in shown
        for count in ("5/12", "8/12", "21/23", "2/23"):
            assert f"{count} </span>" in shown or f"{count}</td>" in shown
    assert page.context["lines"] == []
    for outcome, count in (("both", 5), ("one", 3), ("neither", 4), ("unreadable", 0), ("x", 12)):
        rows = client.get(check, {"outcome": outcome}).context["behind"].rows
        assert len(rows) == count
    assert "No responses match this filter." in text_of(client.get(check, {"outcome": "failed"}))
    fooled = client.get(check, {"outcome": "both"}).context["behind"].rows[0]
    trial = client.get(reverse("judging:injection-trial", args=[told["check"], fooled.second.pk]))
    shown = text_of(trial)
    assert "The final decision is Response B." in shown
    assert "The final decision is Response A." in shown
    assert "Rephrased by verbose" in shown
    assert "Again, Step 1 of" in shown
    table = client.get(reverse("judging:injections-csv", args=[told["check"]]))
    content = "".join(part.decode() for part in table.streaming_content)
    tried = [row for row in csv.DictReader(StringIO(content)) if row["added"] == "REPEATED"]
    turned = Counter(row["pair"] for row in tried if row["flipped"] == "true")
    assert (len(tried), sum(count == 2 for count in turned.values())) == (24, 5)


def test_another_endpoint_rephrases_where_it_is_named(dataset, client):
    with Verbose() as server, Verbose() as other:
        endpoint(server)
        endpoint(other, "writer", model="writes")
        asked = {"judge": "verbose", "rephrase": "writer", "json": True}
        estimate = json.loads(command(**asked, estimate=True))
        told = json.loads(command(**asked))
        calls = [each.stats()["calls"] for each in (server, other)]
        assert (calls, sum(calls)) == ([24, 12], estimate["calls"])
        assert (server.rephrased, other.rephrased) == ({}, {"writes": LISTS})
    assert (told["rephrased_by"], told["both"]["flipped"]) == ("writer", 5)
    run = JudgeRun.objects.get()
    assert (run.writer, run.config["writer"]["model"]) == ("writer", "writes")
    client.force_login(make_user(role="MANAGER"))
    shown = text_of(client.get(reverse("judging:run", args=[run.pk])))
    assert "Rephrased by writer" in shown
    assert "distilled by" not in shown
    labels = set(run.config["rephrase_prompts"])
    assert labels == {f"{name}.v1.{each}" for name in NAMES for each in ("en", "zh")}


def test_lists_are_repeated_word_for_word_where_nobody_writes(dataset, client):
    with Verbose() as server:
        endpoint(server)
        told = json.loads(command(judge="verbose", rephrase="lexical", json=True))
        assert (server.stats()["calls"], told["both"]["flipped"]) == (24, 5)
    assert "rephrase_prompts" not in JudgeRun.objects.get().config
    alone = json.loads(command(judge="lexical", json=True))
    assert (alone["rephrased_by"], alone["both"]["read"]) == ("lexical", 12)
    assert "12 lists repeated word for word, 0 lost" in command(judge="lexical", pairs=12)
    repeated = InjectionTrial.objects.filter(added="REPEATED").first()
    assert repeated.text == "1. Step 1 of 0.\n2. Step 2 of 0.\n3. Step 3 of 0."
    client.force_login(make_user(role="VIEWER"))
    where = reverse("judging:injection-trial", args=[repeated.check_run_id, repeated.pk])
    assert "repeated word for word" in text_of(client.get(where))


def test_letter_probabilities_of_both_orders_decide_together(dataset):
    """A judge that leans to the first place by 2, and else prefers neither version: l* is 0."""
    with FakeLlm(rule="odds:Done.:0.6:2") as server:
        endpoint(server, has_logprobs=True)
        asked = {"judge": "verbose", "rephrase": "lexical", "verdict": "logprob", "json": True}
        estimate = json.loads(command(**asked, estimate=True))
        told = json.loads(command(**asked))
        assert estimate["calls"] == server.stats()["calls"] == 2 * LISTS
    assert (told["both"]["flipped"], told["both"]["read"]) == (0, 12)
    odds = InjectionTrial.objects.filter(added="REPEATED").values_list("log_odds", flat=True)
    assert {round(each, 9) for each in odds} == {0.0}


def test_a_list_that_was_not_rephrased_is_left_out_and_counted(dataset, client):
    """One reply is empty, one call fails: ten responses are judged, and a retry mends the call."""
    with Verbose(instead={11: ""}) as server:
        endpoint(server, concurrency=1)
        server.script.append(Act(status=400))
        with pytest.raises(CommandError, match="llm:bad-request"):
            command(judge="verbose")
        check = InjectionCheck.objects.get()
        lists = Counter(check.trials.filter(added="LIST").values_list("status", "error_code"))
        assert lists == {
            ("FAILED", "llm:bad-request"): 1,
            ("UNPARSEABLE", "llm:no-answer"): 1,
            ("DONE", ""): 10,
        }
        client.force_login(make_user(role="VIEWER"))
        shown = text_of(client.get(reverse("judging:injection-check", args=[check.pk])))
        assert "2 lists could not be rephrased" in shown
        assert "12 responses with a list" in shown
        reset_failed(check.run_id)
        run_to_end(check.run_id)
    trials = check.trials.filter(added="REPEATED", status="DONE")
    assert trials.count() == len(set(trials.values_list("pair", "order"))) == 22


def test_a_reply_with_another_list_is_asked_for_once_more(dataset):
    with Verbose(instead={0: "1. Only one."}) as server:
        endpoint(server)
        told = json.loads(command(judge="verbose", json=True))
        assert server.stats()["calls"] == 12 + 1 + 22  # the reminder got the same
    assert (told["lost"], told["lists"], told["both"]["read"]) == (1, 12, 11)
    row = InjectionTrial.objects.get(added="LIST", status="UNPARSEABLE")
    assert row.error_code == "injection:list-changed"


@pytest.mark.parametrize(
    ("said", "code"), [("1. Only one.", "injection:list-changed"), ("", "llm:no-answer")]
)
def test_a_check_without_any_list_to_repeat_is_over_and_says_why(dataset, client, said, code):
    with Verbose(instead=dict.fromkeys(range(LISTS), said)) as server:
        endpoint(server)
        with pytest.raises(CommandError, match=code):
            command(judge="verbose")
    client.force_login(make_user(role="VIEWER"))
    check = InjectionCheck.objects.get()
    shown = text_of(client.get(reverse("judging:injection-check", args=[check.pk])))
    assert "12 lists could not be rephrased" in shown
    assert "The check ended because one of its steps did not get the answers it needs." in shown
    assert f'<span class="mono">{code}</span>' in shown
    assert "not finished" not in shown
    for page in (shown, text_of(client.get(reverse("judging:injections")))):
        assert "in progress" not in page
        assert '<span class="tag">Failed</span>' in page


def test_a_check_that_was_stopped_or_lacks_calls_can_go_on_and_says_so(dataset, client):
    client.force_login(make_user(role="VIEWER"))
    with Verbose() as server:
        server.script.extend([Act(status=500)] * 500)
        endpoint(server)
        with pytest.raises(CommandError):
            command(judge="verbose")
    check = InjectionCheck.objects.get()
    where = reverse("judging:injection-check", args=[check.pk])
    assert "The check stopped before its end" in text_of(client.get(where))
    JudgeRun.objects.update(status="CANCELLED", error_code="")
    shown = text_of(client.get(where))
    assert "The check stopped before its end" in shown
    assert '<span class="tag">Cancelled</span>' in shown
    assert "in progress" not in shown


def test_a_manager_starts_it_from_the_page(dataset, client):
    client.force_login(make_user(role="MANAGER"))
    form = {
        "attack": "REPETITION",
        "dataset": "lists",
        "judge": "lexical",
        "prompt": "PERSONAL",
        "pairs": "4",
    }
    start, estimate = reverse("judging:injection-new"), reverse("judging:injection-estimate")
    assert '<option value="REPETITION">repetition (verbosity)' in text_of(client.get(start))
    with Verbose() as server:
        endpoint(server)
        asked = {**form, "judge": "verbose", "rephrase": "verbose"}
        shown = text_of(client.post(estimate, asked, headers={"HX-Request": "true"}))
        assert "Rephrase lists" in shown
    first = client.post(start, form)
    run = JudgeRun.objects.get()
    assert first.url == reverse("judging:run", args=[run.pk])
    shown = text_of(client.get(first.url))
    for words in ("Rephrase lists", "repetition (verbosity)"):
        assert words in shown
    assert "distilled by" not in shown
    client.force_login(make_user(role="VIEWER"))
    where = reverse("judging:injection-check", args=[run.injection_check.pk])
    assert "The check is not finished" in text_of(client.get(where))
    assert "in progress" in text_of(client.get(reverse("judging:injections")))


def test_a_dataset_without_lists_and_a_reward_model_are_refused(dataset):
    make_endpoint(name="rewards", has_scores=True)
    other = make_dataset(slug="plain")
    make_comparison(make_turn(make_session(make_scenario(other))))
    for options, code in (
        ({"dataset": "plain"}, "injection:no-lists"),
        ({"rephrase": "rewards"}, "judge:only-scores"),
        ({"rephrase": "nobody"}, "judge:unknown"),
    ):
        with pytest.raises(CommandError, match=f"^{code}: ") as refused:
            command(**options)
        assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()


def test_a_page_of_responses_costs_the_same_however_long(
    dataset, client, django_assert_max_num_queries
):
    told = json.loads(command(judge="lexical", json=True))
    client.force_login(make_user(role="VIEWER"))
    with django_assert_max_num_queries(6):
        client.get(reverse("judging:injection-check", args=[told["check"]]))
    with django_assert_max_num_queries(6):
        client.get(reverse("judging:injections"))
