"""Golden lines: the two examples of the published format's description, shortened."""

from __future__ import annotations

import pytest

from annotation.core.choices import Reason
from annotation.core.formats import uss
from annotation.core.formats.detect import open_records
from annotation.core.formats.reading import MAX_ROW_CHARS
from tests.annotation.core.formats.rows import session_of

FLIGHT = (
    "USER\tA one-way flight.\tINFORM_INTENT\t2,3,3\n"
    "SYSTEM\tWhere to?\tREQUEST\t\n"
    "USER\tTo Mexico.\tINFORM\t3,4,5\n"
    "SYSTEM\tThere is one for $243.\tOFFER\t\n"
    "USER\tOVERALL\t\t3,3,4\n"
)
EXCHANGE = (
    "SYSTEM\t你是商品有问题要换货吗\t\t\t\n"
    "USER\t我要换货\t退换货\t2,2,3\t\n"
    "USER\t不懂就找个懂的\t\t1,1,1\t\n"
    "SYSTEM\t好吧\t\t\t\n"
    "USER\tOVERALL\t\t1,1,4\t没有解决;没有理解;好\n"
)


def read(tmp_path, text, name="SGD.txt", format_name="auto"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    chosen, rows = open_records(path, format_name)
    assert chosen.name == uss.NAME
    return list(rows)


def scores(response):
    return [(each.details.annotator, each.score, each.reason) for each in response.satisfaction]


def test_a_user_line_rates_the_system_turn_before_it(tmp_path):
    [row] = read(tmp_path, FLIGHT)
    session = session_of(row)
    assert (row.line, session.key, session.scenario) == (1, "SGD/1", "SGD")
    first, second = session.turns
    assert first.user_message == "A one-way flight."
    assert scores(first.responses[0]) == [
        ("rater1", 3, Reason.NOT_RECORDED),
        ("rater2", 4, None),
        ("rater3", 5, None),
    ]
    assert scores(second.responses[0]) == []
    assert first.responses[0].extra == {"action": "REQUEST"}
    assert session.extra == {
        "ratings_apart": {"1": "2,3,3"},
        "user_actions": ["INFORM_INTENT", "INFORM"],
    }


def test_overall_rates_the_dialogue_and_explanations_are_comments(tmp_path):
    [row] = read(tmp_path, EXCHANGE, "JDDC.txt")
    session = session_of(row)
    assert [(each.score, each.reason, each.details.comment) for each in session.satisfaction] == [
        (1, Reason.NOT_RECORDED, "没有解决"),
        (1, Reason.NOT_RECORDED, "没有理解"),
        (4, None, "好"),
    ]
    opening, answered, second = session.turns
    assert (opening.user_message, len(scores(opening.responses[0]))) == (None, 3)
    assert (answered.user_message, answered.responses) == ("我要换货", ())
    assert session.extra["ratings_apart"] == {"3": "1,1,1"}
    assert second.user_message == "不懂就找个懂的"


def test_blank_lines_part_dialogues_and_lines_count_from_the_file(tmp_path):
    rows = read(tmp_path, f"{FLIGHT}\n \n{EXCHANGE}\n")
    assert [(row.line, session_of(row).key) for row in rows] == [(1, "SGD/1"), (8, "SGD/2")]


def test_explanations_of_another_number_belong_to_nobody(tmp_path):
    [row] = read(tmp_path, "SYSTEM\tHi\t\t\nUSER\tOVERALL\t\t4,5\tone only\n")
    assert [each.details.comment for each in session_of(row).satisfaction] == ["", ""]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("BOT\thi\t\t", "messages[1].role", "Expected USER or SYSTEM"),
        ("USER", "messages[1].text", "Missing"),
        ("USER\thi\t\t6", "messages[1].scores", uss._NO_SCORES),
        ("USER\thi\t\t3,x", "messages[1].scores", uss._NO_SCORES),
        ("SYSTEM\thi\t\t3", "messages[1].scores", "Only USER lines can have scores"),
        ("USER\tOVERALL\t\t3\nUSER\tbye\t\t", "messages[1].text", uss._LAST_ONLY),
        ("USER\ta\x00b\t\t", "messages[1].text", "A string contains NUL"),
    ],
)
def test_what_is_not_understood_is_a_fault(tmp_path, line, field, reason):
    [row] = read(tmp_path, f"SYSTEM\tHi\t\t\n{line}\n", format_name="uss")
    assert [(each.field, each.reason) for each in row.faults] == [(field, reason)]


def test_an_endless_dialogue_is_a_fault(tmp_path):
    [row] = read(tmp_path, f"USER\t{'a' * MAX_ROW_CHARS}\t\t\n", format_name="uss")
    assert [each.reason for each in row.faults] == ["Row too long to read"]
