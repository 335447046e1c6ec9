from __future__ import annotations

import json

from annotation.core.choices import Verdict
from sensejudge_site.labelled_pairs import read_pandalm
from tests.refusals import refuses


def row(number, instruction, one, other, verdicts=(1, 2, 0)):
    labels = {f"annotator{place}": verdict for place, verdict in enumerate(verdicts, start=1)}
    return {
        "idx": number, "motivation_app": "Mail", "cmp_key": "m-1_m-2", "instruction": instruction,
        "input": "", "response1": one, "response2": other, **labels,
    }  # fmt: skip


def write(folder, rows):
    path = folder / "pairs.json"
    path.write_text(json.dumps(rows))
    return path


def test_pairs_of_one_request_stand_together_where_it_first_appears(tmp_path):
    path = write(
        tmp_path,
        [
            row(1, "Say hi", "hi", "ho"),
            row(2, "Say bye", "bye", "b"),
            row(3, "Say hi", "h", "hello"),
        ],
    )
    found = read_pandalm(path)
    assert [(item.turn_id, item.text_a) for item in found.items] == [
        (0, "hi"),
        (0, "h"),
        (1, "bye"),
    ]
    assert [item.comparison_id for item in found.items] == [0, 1, 2]
    assert found.texts[1].dialogue[-1].text == "Say hi"
    assert (found.texts[2].text_b, found.texts[2].language) == ("b", "en")


def test_every_annotator_has_verdicts_ties_included(tmp_path):
    found = read_pandalm(write(tmp_path, [row(1, "Say hi", "hi", "ho")]))
    assert found.labels == {
        "annotator1": {0: Verdict.A}, "annotator2": {0: Verdict.B}, "annotator3": {0: Verdict.TIE}
    }  # fmt: skip


def test_a_row_that_is_there_twice_counts_once(tmp_path):
    path = write(tmp_path, [row(1, "Say hi", "hi", "ho"), row(1, "Say hi", "hi", "ho", (2, 2, 2))])
    found = read_pandalm(path)
    assert len(found.items) == 1
    assert found.labels["annotator1"] == {0: Verdict.A}


def test_a_fault_is_named_with_its_line(tmp_path):
    path = write(tmp_path, [row(1, "Say hi", "hi", "ho"), row(2, "Say hi", "h", "o", (7,))])
    with refuses("pairs:faulty", match=r"pairs.json, line 2: annotator1: Must be"):
        read_pandalm(path)


def test_a_file_that_is_not_there_is_unreadable(tmp_path):
    with refuses("import:unreadable"):
        read_pandalm(tmp_path / "none.json")
