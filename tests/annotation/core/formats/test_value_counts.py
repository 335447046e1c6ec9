"""The values of a table's columns, and what they are proposed to mean."""

from __future__ import annotations

from annotation.core.formats import value_counts
from annotation.core.formats.value_counts import count_values
from annotation.core.formats.values import Meaning

PLACES = {"prompt": 0, "text_a": 1, "text_b": 2, "model_a": 3, "verdict": 4}


def counted(path, columns):
    return {
        each.key: [
            (each.written[word], count, each.proposal(word)) for word, count in each.counts.items()
        ]
        for each in count_values(path, columns)
    }


def test_each_value_is_counted_with_its_proposal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "q,a,b,m,v,\n1,x,y,gpt,左,\n2,x,y,gpt, 左 ,\n3,x,y,gpt,GPT,\n4,x,y,gpt,hm,\n5,x,y,gpt\n6\n",
        "utf-8",
    )
    assert counted(path, PLACES) == {
        "verdict": [
            ("左", 2, Meaning.A),
            ("GPT", 1, Meaning.NAME),
            ("hm", 1, None),
            ("", 1, Meaning.NONE),
        ]
    }
    named = {"prompt": 0, "text_a": 1, "text_b": 2, "verdict:ann": 3, "verdict:bob": 4}
    assert counted(path, named)["verdict"][0] == ("gpt", 6, None)


def test_values_of_messages_are_counted_by_message(tmp_path, monkeypatch):
    monkeypatch.setattr(value_counts, "MOST_VALUES", 2)
    path = tmp_path / "t.csv"
    rows = "s,user,Hi,\ns,bot,Hello,4\ns,user,Hi,\ns,tool,Hello,4\n"
    path.write_text(f"session,role,text,score\n{rows}", "utf-8")
    places = {"session": 0, "role": 1, "text": 2, "score": 3}
    assert counted(path, places) == {
        "role": [("user", 2, Meaning.USER), ("bot", 1, Meaning.ASSISTANT)],
        "score": [("", 2, Meaning.NONE), ("4", 2, Meaning.SCORE_4)],
    }
