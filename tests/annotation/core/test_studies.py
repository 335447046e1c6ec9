from __future__ import annotations

from annotation.core.choices import StudyKind
from annotation.core.studies import StudyRow


def test_a_study_wants_its_overlap_of_answers_for_each_item():
    row = StudyRow(
        slug="s",
        name="S",
        kind=StudyKind.PAIRWISE,
        status="OPEN",
        dataset="D",
        simulated=False,
        annotators=4,
        items=10,
        overlap=3,
        done=7,
    )
    assert row.wanted == 30
