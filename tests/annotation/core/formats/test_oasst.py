from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats import oasst
from annotation.core.formats.detect import open_records
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines


def message(name, role, *replies, **more):
    told = {
        "message_id": name,
        "text": f"Text of {name}.",
        "role": role,
        "lang": "en",
        "rank": None,
        "replies": list(replies),
        **more,
    }
    return {key: value for key, value in told.items() if value is not ...}


def asks(name, *replies, **more):
    return message(name, "prompter", *replies, **more)


def answers(name, *replies, **more):
    return message(name, "assistant", *replies, **more)


def tree(prompt, **more):
    return {"message_tree_id": "t1", "tree_state": "ready_for_export", "prompt": prompt, **more}


BRANCHING = asks(
    "a",
    answers(
        "b1",
        asks("c1", answers("d1", rank=1), answers("d2", rank=0), answers("d3", rank=2)),
        asks("c2", answers("d4")),
        rank=0,
        emojis={"+1": 2},
    ),
    answers("b2", asks("c3"), rank=1),
    labels={"quality": {"value": 0.5, "count": 3}},
)


def flat(node, parent=None, **more):
    told = {key: value for key, value in node.items() if key != "replies"}
    yield {**told, "parent_id": parent, **more}
    for each in node["replies"]:
        yield from flat(each, node["message_id"], **more)


def sessions(path, name):
    chosen, rows = open_records(path)
    assert chosen.name == name
    return [*map(session_of, rows)]


def shape(session):
    return session.key, [
        (turn.user_message, [(each.text, each.original) for each in turn.responses])
        for turn in session.turns
    ]


def text(name):
    return f"Text of {name}."


SHAPES = [
    (
        "c1",
        [
            (text("a"), [(text("b1"), True), (text("b2"), False)]),
            (text("c1"), [(text("d1"), False), (text("d2"), False), (text("d3"), False)]),
        ],
    ),
    ("c2", [(text("a"), [(text("b1"), True)]), (text("c2"), [(text("d4"), True)])]),
    ("c3", [(text("a"), [(text("b2"), True)]), (text("c3"), [])]),
]


def wins(turn):
    texts = {each.key: each.text for each in turn.responses}
    won = []
    for each in turn.comparisons:
        [gold], [label] = each.gold, each.labels
        assert (label.details.annotator, label.verdict) == ("benchmark", gold.verdict)
        sides = (each.a, each.b) if gold.verdict is Verdict.A else (each.b, each.a)
        won.append(tuple(texts[side] for side in sides))
    return sorted(won)


def test_every_path_of_prompts_is_a_session_and_ranks_are_compared_once(tmp_path):
    found = sessions(write_lines(tmp_path / "f", tree(BRANCHING)), "oasst-trees")
    assert [shape(each) for each in found] == SHAPES
    first, second, third = found
    assert wins(first.turns[0]) == [(text("b1"), text("b2"))]
    assert wins(first.turns[1]) == [
        (text("d1"), text("d3")),
        (text("d2"), text("d1")),
        (text("d2"), text("d3")),
    ]
    assert [turn.comparisons for each in (second, third) for turn in each.turns] == 4 * [()]
    assert (first.scenario, first.language) == ("oasst", "en")
    assert first.turns[0].responses[0].extra == {"message_id": "b1", "emojis": {"+1": 2}}
    assert first.extra["tree_state"] == "ready_for_export"
    quality = {"message_id": "a", "labels": {"quality": {"value": 0.5, "count": 3}}}
    assert first.extra["messages"]["message a"] == quality
    assert "message a" not in second.extra["messages"]


def test_messages_that_follow_one_another_are_the_same_tree(tmp_path):
    rows = [
        *flat(BRANCHING, message_tree_id="t1", tree_state="ready_for_export"),
        *flat(asks("x", answers("y")), message_tree_id="t2"),
    ]
    found = sessions(write_lines(tmp_path / "f", *rows), "oasst-messages")
    assert [shape(each) for each in found[:3]] == SHAPES
    assert found[0].extra["message_tree_id"] == "t1"
    assert wins(found[0].turns[0]) == [(text("b1"), text("b2"))]
    assert found[3].key == "x"
    bare = [*flat(BRANCHING), *flat(asks("x", answers("y")))]
    found = sessions(write_lines(tmp_path / "g", *bare), "oasst-messages")
    assert [each.key for each in found] == ["c1", "c2", "c3", "x"]


def test_a_message_without_the_one_that_it_answers_is_a_fault(tmp_path):
    rows = [*flat(asks("x", answers("y")), message_tree_id="t")][1:]
    _chosen, [told] = open_records(write_lines(tmp_path / "f", *rows))
    assert [(fault.line, fault.field) for fault in told.faults] == [(1, "prompt")]
    assert told.faults[0].reason.startswith("The message that this one answers is not here")
    path = tmp_path / "g"
    path.write_text('{"message_id": "x", "text": "", "role": "prompter", "lang": "en"}\n{"x"\n[3]')
    _chosen, rows = open_records(path)
    assert [bool(each.faults) for each in rows] == [False, True, True]


@pytest.mark.parametrize("changes", [{"deleted": True}, {"review_result": False}, {"rank": None}])
def test_what_was_deleted_or_did_not_pass_is_not_compared(tmp_path, changes):
    passed = {"deleted": False, "review_result": True}
    prompt = asks("a", answers("b", rank=0, **passed), answers("c", **{"rank": 1, **changes}))
    [session] = sessions(write_lines(tmp_path / "f", tree(prompt)), "oasst-trees")
    [turn] = session.turns
    assert (len(turn.responses), turn.comparisons) == (2, ())


def test_synthetic_replies_have_a_model_and_equal_texts_are_two(tmp_path):
    long = "oasst," + 300 * "x"
    prompt = asks(
        "a",
        answers("b", rank=0, text="Yes."),
        answers("c", rank=1, text="Yes."),
        answers("d", synthetic=True, model_name="oasst-sft-1"),
        answers("e", synthetic=True, model_name=long),
    )
    [session] = sessions(write_lines(tmp_path / "f", tree(prompt)), "oasst-trees")
    [turn] = session.turns
    assert [(each.model, each.variant) for each in turn.responses] == [
        ("", ""),
        ("", "B"),
        ("oasst-sft-1", ""),
        (long[:200], ""),
    ]
    assert turn.responses[3].extra["model_name"] == long
    assert len(turn.comparisons) == 1


def test_prompts_that_follow_prompts_and_replies_that_follow_replies_are_turns(tmp_path):
    prompt = asks("a", asks("b", answers("c", answers("d", answers("e")), answers("f"))))
    [session] = sessions(write_lines(tmp_path / "f", tree(prompt)), "oasst-trees")
    assert shape(session) == (
        "e",
        [
            (text("a"), []),
            (text("b"), [(text("c"), True)]),
            (None, [(text("d"), True), (text("f"), False)]),
            (None, [(text("e"), True)]),
        ],
    )
    [alone] = sessions(write_lines(tmp_path / "g", tree(answers("a"))), "oasst-trees")
    assert shape(alone) == ("a", [(None, [(text("a"), True)])])


@pytest.mark.parametrize("prompt", [None, "Hi", asks("a", "b"), asks("a", replies="b")])
def test_a_tree_that_is_none_is_a_fault(tmp_path, prompt):
    told = tree(prompt, path=[{"prompt": None}])
    _chosen, [row] = open_records(write_lines(tmp_path / "f", told))
    assert ("prompt", "Expected an object") in [(each.field, each.reason) for each in row.faults]


def test_what_is_no_tree_at_all_is_a_fault(tmp_path):
    path = tmp_path / "f"
    path.write_text('{"message_tree_id": "t", "prompt": {}}\n[3]\n{"x"\n')
    _chosen, rows = open_records(path, "oasst-trees")
    told = [[(each.field, each.reason) for each in row.faults] for row in rows]
    assert ("message None.text", "Missing") in told[0]
    assert told[1] == [("", "Expected a JSON object")]
    assert len(told[2]) == 1


def test_a_message_of_another_role_is_a_fault(tmp_path):
    prompt = asks("a", message("b", "moderator"))
    _chosen, [row] = open_records(write_lines(tmp_path / "f", tree(prompt)))
    assert [(each.field, each.reason) for each in row.faults] == [
        ("message b.role", "Expected one of prompter, assistant")
    ]


def test_a_thread_is_one_conversation():
    thread = [asks("a"), answers("b", model_name="m"), asks("c"), answers("d")]
    session = record_of({"thread_id": "d", "thread": thread}, oasst.parse_thread)
    assert shape(session) == (
        "c",
        [(text("a"), [(text("b"), True)]), (text("c"), [(text("d"), True)])],
    )
    assert session.turns[0].responses[0].model == "m"
    assert session.extra["thread_id"] == "d"
    assert faults_of({"thread_id": "d", "thread": []}, oasst.parse_thread) == [
        ("thread", "Missing")
    ]


def test_rows_are_told_apart():
    kinds = {
        oasst.looks_like_trees: tree(BRANCHING),
        oasst.looks_like_threads: {"thread_id": "d", "thread": []},
        oasst.looks_like_messages: asks("a", replies=...),
    }
    for looks_like, own in kinds.items():
        assert [row for row in kinds.values() if looks_like(row)] == [own]
        assert not looks_like("row")
