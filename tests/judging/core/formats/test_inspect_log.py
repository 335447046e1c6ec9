from __future__ import annotations

import json

import pytest

from annotation.core.choices import JudgmentStatus
from judging.core.formats.inspect_log import looks_like, parse, read_file
from tests.annotation.core.formats.rows import faults_of, record_of


def message(role, content, **more):
    return {"id": "m1", "role": role, "content": content, "source": "input", **more}


def sample(**changes):
    told = {
        "id": 1,
        "epoch": 1,
        "input": "When do I prune roses?",
        "target": "In late winter.",
        "messages": [
            message("system", "Be brief."),
            message("user", "When do I prune roses?"),
            message("assistant", "Late winter.", model="gpt"),
        ],
        "output": {"model": "gpt", "choices": [{"message": message("assistant", "Late winter.")}]},
        "scores": {"graded": {"value": "C", "answer": "x", "explanation": "Matches."}},
        "metadata": {"topic": "garden"},
        "events": [1],
        **changes,
    }
    return {name: value for name, value in told.items() if value is not ...}


def row(**changes):
    return {"eval": {"task": "garden", "model": "openai/gpt"}, "sample": sample(**changes)}


def log(*samples):
    return {"version": 2, "eval": {"task": "garden"}, "samples": list(samples), "results": {}}


def answer_of(told):
    return record_of(told, parse).turns[-1].responses[0]


def test_a_sample_is_a_session_with_its_answer_and_its_reference():
    session = record_of(row(), parse)
    [turn] = session.turns
    assert (session.key, session.scenario) == ("garden/1/1", "garden")
    assert (session.system_prompt, turn.user_message) == ("Be brief.", "When do I prune roses?")
    assert [(one.text, one.model, one.original) for one in turn.responses] == [
        ("Late winter.", "gpt", False)
    ]
    assert session.extra == {"metadata": {"topic": "garden"}, "reference": "In late winter."}
    [score] = session.scores
    assert (score.judge, score.turn, score.model, score.value, score.raw) == (
        "graded",
        0,
        "gpt",
        10.0,
        "Matches.",
    )


@pytest.mark.parametrize(
    ("value", "grade"),
    [("C", 10.0), ("P", 5.5), ("I", 1.0), (True, 10.0), (False, 1.0), ("N", None), (None, None)],
)
def test_scorers_words_are_grades(value, grade):
    [score] = record_of(row(scores={"s": {"value": value}}), parse).scores
    assert score.value == grade
    assert score.status is (JudgmentStatus.UNPARSEABLE if grade is None else JudgmentStatus.DONE)
    assert score.raw == json.dumps(value)


def test_what_is_no_grade_is_kept_with_the_answer():
    scores = {
        "helpful": {"value": {"clarity": 4}},
        "number": {"value": 0.5},
        "graded": {"value": "I", "metadata": {"grading": "x"}, "history": []},
    }
    session = record_of(row(scores=scores), parse)
    assert [each.judge for each in session.scores] == ["graded"]
    assert session.turns[0].responses[0].extra == {
        "score:helpful": {"value": {"clarity": 4}},
        "score:number": {"value": 0.5},
        "score:graded": {"metadata": {"grading": "x"}},
    }


def test_reasoning_is_no_text_and_a_sample_that_failed_has_none():
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Acid."}]
    told = row(messages=[message("user", "Soil?"), message("assistant", parts)])
    assert (answer_of(told).text, answer_of(told).extra) == ("Acid.", {"reasoning": "Hm."})
    failed = row(
        messages=[message("user", "Soil?"), message("assistant", "")], error={"message": "Timeout"}
    )
    assert (answer_of(failed).text, answer_of(failed).extra) == (None, {"error": "Timeout"})
    assert answer_of(row(error={"code": 1})).text == "Late winter."
    assert answer_of(row(messages=[message("user", "Soil?")])).text is None


def test_without_messages_input_and_output_are_the_dialogue():
    choices = [{"message": message("assistant", "One.")}, {"message": message("assistant", "Two.")}]
    output = {"choices": choices}
    session = record_of(row(messages=[], output=output, id="a", epoch=2), parse)
    assert session.key == "garden/a/2"
    assert [(one.text, one.model, one.variant) for one in session.turns[0].responses] == [
        ("One.", "openai/gpt", ""),
        ("Two.", "openai/gpt", "choice 1"),
    ]
    listed = record_of(
        row(messages=..., input=[message("user", "Soil?")], target=["acid", "peat"]), parse
    )
    assert listed.turns[0].user_message == "Soil?"
    assert listed.extra["reference"] == "acid\npeat"


def test_the_reference_of_a_dialogue_is_that_of_its_last_turn():
    spoken = [message("user", "Hi"), message("assistant", "Hello."), message("user", "Soil?")]
    session = record_of(row(messages=[*spoken, message("assistant", "Acid.")]), parse)
    assert session.extra["reference"] == ["", "In late winter."]
    bare = {"sample": sample(target="", metadata=...)}
    assert record_of(bare, parse).extra == {}
    assert record_of(bare, parse).scenario == "inspect"


def test_a_judges_name_has_a_length():
    [(field, reason)] = faults_of(row(scores={"": {"value": "C"}}), parse)
    assert (field, reason) == ("sample.scores", "Must have 1 to 80 characters")


def test_a_log_is_read_by_its_samples(tmp_path):
    attached = sample(
        input="attachment://a1", attachments={"a1": "Long."}, messages=["attachment://b"]
    )
    path = tmp_path / "log.json"
    for text in (
        json.dumps(log(sample(), attached, 7), indent=1),
        json.dumps(log(sample(), attached, 7)),
    ):
        path.write_text(text)
        first, second, third = read_file(path)
        assert first.value == {"eval": {"task": "garden"}, "sample": sample()}
        assert second.value["sample"]["input"] == "Long."
        assert second.value["sample"]["messages"] == ["attachment://b"]
        assert third.value["sample"] == 7
    path.write_text(f"{json.dumps(log(sample()))}\n7\n{json.dumps(log(sample(id=2)))}\n")
    assert [raw.line for raw in read_file(path)] == [1, 2, 3]
    path.write_text("")
    assert list(read_file(path)) == []


def test_logs_are_told_by_evaluation_and_samples():
    assert looks_like(log())
    assert not looks_like({"eval": {}, "samples": None})
    assert not looks_like({"eval": 1, "samples": []})
    assert not looks_like([])
