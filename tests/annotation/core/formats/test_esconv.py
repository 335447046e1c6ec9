from __future__ import annotations

import pytest

from annotation.core.choices import Reason
from annotation.core.formats.esconv import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def line(speaker, content, **annotation):
    return {"speaker": speaker, "annotation": annotation, "content": f"{content}\n"}


def row(*lines, **changes):
    return {
        "experience_type": "Previous",
        "emotion_type": "anxiety",
        "problem_type": "job crisis",
        "situation": "I may lose my post.",
        "dialog": list(lines),
        **changes,
    }


TALK = (
    line("seeker", "Hello?"),
    line("supporter", "Yes. What brings you?", strategy="Question"),
    line("seeker", "They close my crane.", feedback="4"),
    line("seeker", "After twenty years!", mood="low"),
    line("supporter", "That counts.", strategy="Affirmation"),
    line("supporter", "Have you asked the union?"),
    line("seeker", "I will.", feedback="2"),
)


def test_feedback_rates_what_the_supporter_said_since_the_last_one():
    session = record_of(row(*TALK), parse)
    seeker = session.user
    assert (session.scenario, session.task_context) == ("job crisis", "I may lose my post.")
    assert [
        (
            turn.user_message,
            [
                (one.text, one.extra, [(each.score, each.reason) for each in one.satisfaction])
                for one in turn.responses
            ],
        )
        for turn in session.turns
    ] == [
        ("Hello?", [("Yes. What brings you?", {"strategy": "Question"}, [(4, None)])]),
        ("They close my crane.", []),
        (
            "After twenty years!",
            [("That counts.", {"strategy": "Affirmation"}, [(2, Reason.NOT_RECORDED)])],
        ),
        (None, [("Have you asked the union?", {}, [(2, Reason.NOT_RECORDED)])]),
        ("I will.", []),
    ]
    [first] = session.turns[0].responses
    assert first.satisfaction[0].details.annotator == seeker == f"seeker {session.key[:12]}"
    assert session.extra == {
        "experience_type": "Previous",
        "emotion_type": "anxiety",
        "messages": {"dialog[3]": {"mood": "low"}},
    }


def test_the_survey_is_the_questionnaire_of_each_side():
    survey = {"seeker": {"empathy": "4", "relevance": ""}, "supporter": {}}
    told = row(*TALK, survey_score=survey, seeker_question1="Good.", supporter_question1="no")
    session = record_of(told, parse)
    assert [(each.annotator, each.answers) for each in session.questionnaires] == [
        (session.user, ({"empathy": "4", "seeker_question1": "Good."},)),
        (f"supporter {session.key[:12]}", ({"supporter_question1": "no"},)),
    ]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (line("helper", "Hi"), ("dialog[0].speaker", "Expected seeker or supporter")),
        (
            line("seeker", "Hi", feedback="6"),
            ("dialog[0].annotation.feedback", "Must be between 1 and 5"),
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(told, fault):
    assert faults_of(row(told), parse) == [fault]


def test_rows_are_told_by_their_fields():
    assert looks_like(row())
    assert not looks_like({"dialog": []})
    assert not looks_like([])
