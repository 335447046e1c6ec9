"""Messages of every dialect: roles, texts in parts, tools, thoughts, and what else they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import (
    SpokenMessage,
    are_messages,
    open_turn,
    read_message,
    read_messages,
    read_text,
    shared_start,
    spoken,
    turns_of,
    without_system,
)
from annotation.core.formats.fields import Fields, Notes

USER, ASSISTANT, SYSTEM = Speaker.USER, Speaker.ASSISTANT, Speaker.SYSTEM
MESSAGES = st.lists(
    st.builds(
        SpokenMessage, st.sampled_from([Speaker.USER, Speaker.ASSISTANT]), st.text(max_size=5)
    )
)
CLOCK = {"type": "function", "id": "c1", "function": {"name": "clock", "arguments": '{"at": 1}'}}


@pytest.fixture
def notes():
    return Notes(1)


@pytest.fixture
def read(notes):
    """Roles and texts of messages."""

    def reader(*messages, **settings):
        found = read_messages(Fields({"m": list(messages)}, notes), "m", **settings)
        return [(each.role, each.text) for each in found]

    return reader


def user(content="hi", **more):
    return {"role": "user", "content": content, **more}


def model(content="ho", **more):
    return {"role": "assistant", "content": content, **more}


@given(MESSAGES)
def test_turns_say_the_same_messages_in_the_same_order(messages):
    said: list[tuple[Speaker, str | None]] = []
    for turn in turns_of(messages):
        if turn.user_message is not None:
            said.append((Speaker.USER, turn.user_message))
        said.extend((Speaker.ASSISTANT, response.text) for response in turn.responses)
    assert said == [(message.role, message.text) for message in messages]


@given(MESSAGES)
def test_every_turn_has_at_most_one_response_and_it_is_the_original(messages):
    for number, turn in enumerate(turns_of(messages)):
        assert [response.key for response in turn.responses] in ([], [str(number)])
        assert all(response.original for response in turn.responses)
        assert turn.user_message is not None or turn.responses


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "developer", "content": "x"}, SYSTEM),
        ({"from": "Human", "value": "x"}, USER),
        ({"from": "chatgpt", "value": "x"}, ASSISTANT),
        ({"speaker": "seeker", "text": "x"}, USER),
    ],
)
def test_roles_and_texts_of_every_dialect(read, message, role):
    assert read(message) == [(role, "x")]


def test_an_unknown_role_and_a_missing_text_are_faults(read, notes):
    read({"role": "wizard", "content": "x"}, {"role": "user"}, {"content": "x"})
    assert [each.field for each in notes.faults] == ["m[0].role", "m[1].content", "m[2].role"]


def test_parts_of_text_are_joined_and_others_leave_a_placeholder(read, notes):
    content = [
        "see",
        {"type": "text", "text": "this"},
        {"type": "image_url", "image_url": {"url": "https://a.example/cat.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "x" * 300, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "x"}},
        {"image": "cat.png"},
        {"type": "refusal", "refusal": "no"},
        None,
    ]
    [(_role, text)] = read(user(content))
    assert text.split("\n\n") == [
        "see",
        "this",
        "[image: https://a.example/cat.png]",
        "[image]",
        "[audio]",
        "[file: a.pdf]",
        "[image: cat.png]",
        "no",
    ]
    assert not notes.faults


def test_one_part_may_stand_without_a_list(read):
    assert read(user({"type": "text", "text": "x"})) == [(USER, "x")]


def test_parts_that_say_nothing_are_faults(read, notes):
    read(user([{"type": "text"}, 7]))
    assert [each.field for each in notes.faults] == ["m[0].content[0].text", "m[0].content[1]"]


def test_media_beside_the_text_leave_a_placeholder_and_are_kept(read, notes):
    assert read(user("look", images=["cat.png"])) == [(USER, "look\n\n[image]")]
    assert notes.messages == {"m[0]": {"images": ["cat.png"]}}
    read(user("look", documents=["long"]))
    assert [each.field for each in notes.faults] == ["m[0].documents"]


def test_a_refusal_is_a_text(read):
    assert read(model(None, refusal="I cannot.")) == [(ASSISTANT, "I cannot.")]


def test_calls_and_results_of_tools_become_blocks_of_one_message(read):
    told = read(
        user(),
        {"role": "assistant", "tool_calls": [CLOCK]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        model("It is noon."),
        model("Bye."),
    )
    text = '```tool-call\nclock({"at": 1})\n```\n\n```tool-result clock\nnoon\n```\n\nIt is noon.'
    assert told == [(USER, "hi"), (ASSISTANT, text), (ASSISTANT, "Bye.")]


def test_a_text_goes_before_the_call_that_it_announces(read):
    told = read(model("Let me see."), model("", tool_calls=[CLOCK]), user("thanks"))
    assert told[0][1] == 'Let me see.\n\n```tool-call\nclock({"at": 1})\n```'
    assert told[1] == (USER, "thanks")


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        ([{"name": "f", "arguments": {"a": "ü"}}], 'f({"a": "ü"})'),
        ([{"function": {"name": "f"}}], "f({})"),
        ([{"type": "custom", "custom": {"name": "f", "input": "x"}}], "f(x)"),
        ([{}], "?({})"),
        ('[{"name": "f", "args": {}}]', "f({})"),
        ("look it up", "look it up"),
    ],
)
def test_calls_of_every_dialect(read, calls, text):
    assert read(model(tool_calls=calls)) == [(ASSISTANT, f"ho\n\n```tool-call\n{text}\n```")]


def test_a_call_that_is_none_is_a_fault(read, notes):
    read(model(tool_calls=[7, None]))
    assert [each.field for each in notes.faults] == ["m[0].tool_calls"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', 'f({"a": 1})'),
        ('[{"name": "f"}, {"name": "g"}]', "f({})\ng({})"),
        ("call home", "call home"),
        ("[]", "[]"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_message_that_is_a_call(read, value, text):
    told = read({"from": "function_call", "value": value}, {"from": "observation", "value": "x"})
    assert told == [
        (ASSISTANT, f"```tool-call\n{text}\n```\n\n```tool-result\nx\n```"),
    ]


def test_tools_in_parts(read):
    call = {"type": "tool_use", "id": "t", "name": "clock", "input": {"at": 1}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "5"}]}
    told = read(
        user(), model([{"type": "text", "text": "So:"}, call]), user([result]), model("Five.")
    )
    block = 'So:\n\n```tool-call\nclock({"at": 1})\n```\n\n```tool-result clock\n5\n```\n\nFive.'
    assert told == [(USER, "hi"), (ASSISTANT, block)]
    empty = {"type": "tool_result", "tool_use_id": ["?"]}
    assert read(model([call, empty])) == [
        (ASSISTANT, '```tool-call\nclock({"at": 1})\n```\n\n```tool-result\n\n```')
    ]
    assert read(user([empty, "and?"]))[1] == (USER, "and?")


def test_a_fence_is_longer_than_any_in_the_text(read):
    [(_role, text)] = read({"role": "tool", "name": "a `b`\nc", "content": "```\nx\n```"})
    assert text == "````tool-result a_b_c\n```\nx\n```\n````"


def test_thoughts_are_kept_apart_and_counted(notes):
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ho"}]
    parts = [{"type": "reasoning", "summary": ["so"]}, {"type": "reasoning"}]
    rows = [model(reasoning_content="eh", thinking=""), model(content), model(parts)]
    found = read_messages(Fields({"m": rows}, notes), "m")
    assert [each.text for each in found] == ["ho", "ho", ""]
    thoughts = [(each.extra or {}).get("reasoning") for each in found]
    assert thoughts == ["eh", "hm", "so"]
    assert notes.kept == ["reasoning"] * 3


def test_what_a_message_says_beside_its_text_is_kept_where_it_belongs(notes):
    rows = [
        user(country="IS", state=None),
        user("x", thinking="sly"),
        model(weight=0, model="m1", tool_calls=[CLOCK]),
        {"role": "tool", "content": "x", "weight": 1, "latency": 2},
        model(weight=1, latency=2),
    ]
    found = read_messages(Fields({"m": rows}, notes), "m")
    assert notes.messages == {"m[0]": {"country": "IS"}, "m[1]": {"reasoning": "sly"}}
    assert (found[2].model, found[2].extra) == ("m1", {"weight": 0, "weight_2": 1, "latency": 2})
    assert notes.kept == [
        "country",
        "reasoning",
        "weight",
        "weight",
        "latency",
        "weight",
        "latency",
    ]


def test_fields_may_be_kept_uncounted_or_dropped(notes):
    row = Fields({"m": [model(model="m1", score=4, turn=1)]}, notes)
    [found] = read_messages(row, "m", keep=("model",), drop=("turn",))
    assert (found.model, found.extra) == ("", {"model": "m1", "score": 4})
    assert notes.kept == ["score"]


def test_one_message_or_a_list_of_them(notes):
    fields = Fields({"one": model(), "two": [model(), user()]}, notes)
    assert [each.text for each in read_message(fields, "one")] == ["ho"]
    assert [each.text for each in read_message(fields, "two")] == ["ho", "hi"]


def test_a_text_or_parts_of_it(notes):
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x", "cite": 1}]
    fields = Fields({"plain": " a", "parts": parts}, notes)
    assert (read_text(fields, "plain"), read_text(fields, "parts")) == (" a", "x")
    assert notes.messages == {"parts": {"reasoning": "hm"}, "parts[1]": {"cite": 1}}
    assert notes.kept == ["cite", "reasoning"]


def test_a_system_prompt_comes_first(notes):
    told = [SpokenMessage(SYSTEM, "a"), SpokenMessage(SYSTEM, "b"), SpokenMessage(USER, "c")]
    fields = Fields({}, notes)
    assert without_system(fields, "m", told) == ("a\n\nb", told[2:])
    assert not notes.faults
    without_system(fields, "m", [told[2], told[0]])
    assert [each.reason for each in notes.faults] == ["A system message must come first"]


def test_dialogues_share_their_start():
    one = [SpokenMessage(USER, "a"), SpokenMessage(ASSISTANT, "b"), SpokenMessage(USER, "c")]
    other = [SpokenMessage(USER, "a"), SpokenMessage(USER, "b")]
    assert (shared_start(one, other), shared_start(one, one), shared_start()) == (1, 3, 0)


def test_the_turn_that_is_open():
    asked = [SpokenMessage(USER, "a"), SpokenMessage(ASSISTANT, "b"), SpokenMessage(USER, "c")]
    before, message = open_turn(asked)
    assert ([turn.user_message for turn in before], message) == (["a"], "c")
    before, message = open_turn(asked[:2])
    assert ([turn.user_message for turn in before], message) == (["a"], None)
    assert open_turn([]) == ((), None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([user()], True),
        ([{"from": "gpt", "value": ""}], True),
        ([{"role": "assistant", "tool_calls": []}], True),
        ([], False),
        ("text", False),
        (["text"], False),
        ([{"role": 1, "content": ""}], False),
        ([{"role": "user"}], False),
    ],
)
def test_messages_are_told(value, expected):
    assert are_messages(value) is expected


def test_an_answer_that_is_null_or_an_error_is_not_available():
    told = [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "$ERROR$"},
    ]
    fields = Fields({"messages": told}, Notes(1))
    [one, other] = turns_of(read_messages(fields, "messages"))
    assert [each.text for each in (*one.responses, *other.responses)] == [None, None]
    assert fields.notes.faults == []


def test_an_answer_without_a_text_is_a_fault():
    fields = Fields({"messages": [{"role": "assistant"}]}, Notes(1))
    read_messages(fields, "messages")
    assert [fault.field for fault in fields.notes.faults] == ["messages[0].content"]


def test_of_a_single_field_only_an_answer_may_be_null():
    fields = Fields({"a": None}, Notes(1))
    assert spoken(fields, "a", Speaker.ASSISTANT).answer is None
    assert fields.notes.faults == []
    assert spoken(fields, "a", Speaker.USER).answer == ""
    assert [fault.field for fault in fields.notes.faults] == ["a"]
