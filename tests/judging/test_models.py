"""A judgment is unique, has a verdict exactly when it is done, an error exactly when it is not."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from judging.models import Judgment, Preference, SatisfactionJudgment, UserMemory
from tests import factory

pytestmark = pytest.mark.django_db


def refused(make, *rows, **fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        make(*rows, **fields)


class TestJudgment:
    def test_it_is_unique_by_run_comparison_preference_and_order(self):
        run, pair, text = (
            factory.make_run(),
            factory.make_comparison(),
            factory.make_preference(),
        )
        factory.make_judgment(run, pair, text, order="ORIGINAL")
        factory.make_judgment(run, pair, text, order="SWAPPED")
        refused(factory.make_judgment, run, pair, text, order="ORIGINAL")
        assert Judgment.objects.count() == 2

    @pytest.mark.parametrize(
        "fields",
        [
            {"status": "DONE", "verdict": None},
            {"status": "DONE", "verdict": "X"},
            {"status": "PENDING", "verdict": "A"},
            {"status": "FAILED", "verdict": "A", "error_code": "llm:timeout"},
            {"status": "FAILED"},
            {"status": "UNPARSEABLE"},
            {"status": "DONE", "error_code": "llm:timeout"},
            {"order": "REVERSE"},
        ],
    )
    def test_status_verdict_and_error_agree(self, fields):
        refused(
            factory.make_judgment,
            factory.make_run(),
            factory.make_comparison(),
            factory.make_preference(),
            **fields,
        )


class TestPreference:
    def test_there_is_one_empty_preference_and_it_is_empty(self):
        factory.make_preference(kind="EMPTY", text="")
        refused(factory.make_preference, kind="EMPTY", text="")
        Preference.objects.all().delete()
        refused(factory.make_preference, kind="EMPTY", text="Prefers silence.")

    def test_a_pair_preference_names_its_pair_and_a_winner(self):
        refused(factory.make_preference, kind="PAIR")
        refused(
            factory.make_preference,
            kind="PAIR",
            source_comparison=factory.make_comparison(),
            source_verdict="TIE",
        )

    def test_one_preference_by_run_pair_and_control(self):
        fields = {
            "kind": "PAIR",
            "run": factory.make_run(),
            "source_comparison": factory.make_comparison(),
            "source_verdict": "A",
        }
        factory.make_preference(**fields)
        factory.make_preference(**fields, control="SHUFFLED")
        refused(factory.make_preference, **fields)

    def test_the_text_is_there_exactly_when_done(self):
        refused(factory.make_preference, status="PENDING", text="early")
        refused(factory.make_preference, status="DONE", text=None)


class TestSatisfactionJudgment:
    def test_a_score_stands_exactly_when_done_and_never_by_default(self):
        fields = {
            "run": factory.make_run(),
            "user": factory.make_user(),
            "response": factory.make_response(),
        }
        refused(SatisfactionJudgment.objects.create, **fields, status="DONE")
        refused(SatisfactionJudgment.objects.create, **fields, status="PENDING", score=3)
        refused(SatisfactionJudgment.objects.create, **fields, status="DONE", score=6)
        refused(SatisfactionJudgment.objects.create, **fields, status="PENDING", calibrated=3)
        row = SatisfactionJudgment.objects.create(**fields, status="DONE", score=4)
        refused(SatisfactionJudgment.objects.create, **fields)
        assert SatisfactionJudgment.objects.get() == row

    def test_a_memory_version_is_written_once(self):
        fields = {
            "run": factory.make_run(),
            "user": factory.make_user(),
            "target_scenario": factory.make_scenario(),
            "judge": "lexical",
        }
        UserMemory.objects.create(**fields)
        refused(UserMemory.objects.create, **fields)
        assert UserMemory.objects.create(**fields, version=2).version == 2
