from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from sensejudge_site.demo.sessions import check_pairs
from tests.fake_llm import Act, FakeLlm


def run(server, *arguments):
    output = StringIO()
    call_command(
        "llm_check",
        "--base-url",
        server.base_url,
        "--model",
        "m",
        *arguments,
        stdout=output,
        stderr=StringIO(),
    )
    return output.getvalue()


def test_it_prints_what_was_seen():
    with FakeLlm() as server:
        said = run(server)
    assert "chat: yes," in said
    assert "JSON schema: no," in said
    assert "preference 4: 这位用户喜欢更短" in said
    # 4 pairs, 2 orders, base and 2 preferences that both ask for the shorter response
    assert "text verdicts: 24 asked, 24 decided, 0 unparseable, 0 failed; 16 for the" in said
    assert "one letter: 24 asked, 24 decided" in said
    assert "same questions again: 0 calls" in said


def test_the_endpoint_of_the_environment_is_tried_where_none_is_named(settings, monkeypatch):
    monkeypatch.setenv("LLM_CHECK_KEY", "sk-check")
    monkeypatch.delenv("LLM_API_KEY", raising=False)
    settings.LLM_KEY_VARIABLE = "LLM_CHECK_KEY"
    with pytest.raises(CommandError, match="--base-url"):
        call_command("llm_check")
    with FakeLlm(logprobs=False) as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.base_url, "m"
        output = StringIO()
        call_command("llm_check", stdout=output, stderr=StringIO())
        run(server)
    assert "chat: yes," in output.getvalue()
    assert server.headers[0]["Authorization"] == "Bearer sk-check"
    assert "Authorization" not in server.headers[-1]  # an address that was given has its own key


def test_with_json_it_prints_one_object():
    with FakeLlm(logprobs=False) as server:
        found = json.loads(run(server, "--json"))
    assert found["chat"]["works"] is True
    assert (found["strict"]["agreed"], found["letter"]) == (16, None)
    assert 0 < found["cached_share"] < 1
    assert found["error_code"] is None


def test_without_log_probabilities_it_says_that_letters_were_not_tried():
    with FakeLlm(logprobs=False) as server:
        assert "one letter: not tried" in run(server)


PANDALM = [
    {
        "idx": number, "cmp_key": "a_b", "instruction": f"How long for egg {number}?", "input": "",
        "response1": f"Eight {number}. " * 9, "response2": "Well.",
        "annotator1": 0 if number == 1 else 1,
    }
    for number in range(4)
]  # fmt: skip


def test_with_pairs_of_a_file_it_says_what_prefix_order_is_worth(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(PANDALM))
    with FakeLlm() as server:
        said = run(server, "--file", str(path), "--pairs", "2")
        found = json.loads(run(server, "--file", str(path), "--pairs", "2", "--json"))
    # 2 pairs with a winner, 2 orders, base and the one preference that all three sources give
    line = "a comparison's calls together, preference last: 8 calls in "
    assert line in said
    assert "calls in random order, preference last: 8 calls in " in said
    assert "preference first: 8 calls in " in said
    together, shuffled, first = found["prefix_order"]
    assert together["cached_tokens"] > max(shuffled["cached_tokens"], first["cached_tokens"])


def test_without_log_probabilities_prefix_order_is_not_tried(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(PANDALM))
    with FakeLlm(logprobs=False) as server:
        found = json.loads(run(server, "--file", str(path), "--json"))
    assert found["prefix_order"] == []


def test_a_file_with_a_fault_ends_with_2(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text('[{"cmp_key": "a_b"}]')
    with pytest.raises(CommandError, match="pairs:faulty") as wrong:
        call_command(
            "llm_check", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--file", str(path)
        )
    assert wrong.value.returncode == 2


def test_the_key_is_read_from_the_variable_and_sent(monkeypatch):
    monkeypatch.setenv("LLM_CHECK_KEY", "sk-check")
    with FakeLlm() as server:
        said = run(server, "--key-variable", "LLM_CHECK_KEY")
    assert server.headers[0]["Authorization"] == "Bearer sk-check"
    assert "sk-check" not in said


def test_an_endpoint_that_fails_ends_with_1_and_says_what_to_do():
    with FakeLlm(script=[Act(status=401)]) as server, pytest.raises(CommandError) as failed:
        run(server)
    assert failed.value.returncode == 1
    assert "llm:refused-key: The endpoint rejected the API key. Check the environment" in str(
        failed.value
    )


def test_an_address_that_cannot_be_used_ends_with_2():
    with pytest.raises(CommandError) as wrong:
        call_command("llm_check", "--base-url", "ftp://x", "--model", "m")
    assert wrong.value.returncode == 2


def test_the_pairs_are_short_and_in_both_languages():
    pairs = check_pairs()
    assert [item.language for item in pairs] == ["en", "en", "zh", "zh"]
    for item in pairs:
        assert 0 < len(item.pair.chosen) < len(item.pair.rejected)
        assert item.pair.dialogue[-1].role == "user"
