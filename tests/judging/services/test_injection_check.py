from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.core.dialogue import Message, Role
from judging.core.injections import INJECTIONS, harmless, target_of
from judging.core.judge_modes import JudgePrompt
from judging.services.injection_check import TriedPair, check_injections
from judging.services.pairwise_plans import NoPromptsError
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db

DIALOGUE = (Message(Role.USER, "How do I boil an egg?"),)
PAIR = TriedPair(DIALOGUE, "Boil it for GOODWORD minutes.", "Eight minutes.", "en")


def check(server, **options):
    return check_injections(make_endpoint(base_url=server.base_url).name, [PAIR], **options)


def test_a_judge_that_decides_by_something_else_is_not_talked_round():
    with FakeLlm(rule="word:GOODWORD") as server:
        name = make_endpoint(base_url=server.base_url).name
        found = check_injections(name, [PAIR])
        # Attempts of one length and place share a harmless text, and nothing is asked twice.
        plain = {(target_of(attempt), harmless(attempt)) for attempt in INJECTIONS}
        assert server.stats()["calls"] == 2 + len(INJECTIONS) + len(plain)
        assert check_injections(name, [PAIR]) == found
        assert server.stats()["calls"] == 2 + len(INJECTIONS) + len(plain)
    assert (found.pairs, found.attacks.flipped, found.attacks.read) == (1, 0, len(INJECTIONS))
    assert (found.failed, found.error_codes) == (0, ())


def test_a_judge_that_counts_letters_is_talked_round_by_length_alone():
    with FakeLlm(rule="longer") as server:
        found = check(server)
    assert 0 < found.attacks.flipped == found.harmless.flipped
    assert sum(each.flipped for _, each in found.by_attempt) == found.attacks.flipped


def test_another_prompt_is_tried_as_well():
    with FakeLlm(rule="word:GOODWORD") as server:
        found = check(server, prompt=JudgePrompt.PAIRWISE)
    assert (found.attacks.flipped, found.attacks.unreadable) == (0, 0)


def test_failed_calls_are_told_apart_from_verdicts():
    with FakeLlm(rule="word:GOODWORD", script=[Act(status=400)]) as server:
        found = check(server)
    assert (found.failed, found.error_codes) == (1, ("llm:bad-request",))


def test_the_lexical_judge_has_no_prompts_to_choose():
    with pytest.raises(NoPromptsError):
        check_injections("lexical", [PAIR], prompt=JudgePrompt.PAIRWISE)
    with pytest.raises(NoPromptsError):
        check_injections(make_endpoint().name, [PAIR], prompt=JudgePrompt.SINGLE)


def command(**options):
    out = StringIO()
    call_command("injection_check", stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_command_tells_rates_with_intervals():
    told = json.loads(command(json=True))
    assert (told["judge"], told["pairs"], len(told["by_attempt"])) == ("lexical", 4, 44)
    attacks = told["attacks"]
    assert attacks["rate"] == attacks["flipped"] / attacks["read"]
    assert attacks["low"] <= attacks["rate"] <= attacks["high"]
    assert "harmless texts of the same length: " in command()


def test_the_command_refuses_an_unknown_judge_and_tells_of_failed_calls():
    with pytest.raises(CommandError) as refused:
        command(judge="nobody")
    assert refused.value.returncode == 2
    with FakeLlm(script=[Act(status=400)] * 500) as server:
        name = make_endpoint(base_url=server.base_url).name
        with pytest.raises(CommandError, match="llm:bad-request") as failed:
            command(judge=name)
    assert failed.value.returncode == 1
