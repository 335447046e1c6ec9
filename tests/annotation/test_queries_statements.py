from __future__ import annotations

from datetime import datetime

import pytest

from annotation.models import AnnotatorProfile, Comparison, Session, Study, StudyItem, Turn
from annotation.queries.sql import Joined
from tests.annotation.labelling import make_pair_study
from tests.factory import make_user

pytestmark = pytest.mark.django_db

ITEMS = Joined(
    """
FROM annotation_studyitem item
JOIN annotation_study study ON study.id = item.study_id
JOIN annotation_comparison pair ON pair.id = item.comparison_id
JOIN annotation_turn turn ON turn.id = pair.turn_id
JOIN annotation_session talk ON talk.id = turn.session_id
LEFT JOIN annotation_annotatorprofile profile ON profile.user_id = %(nobody)s
WHERE study.slug = %(slug)s ORDER BY item.position
""",
    item=StudyItem,
    study=Study,
    pair=Comparison,
    turn=Turn,
    talk=Session,
    profile=AnnotatorProfile,
)


def test_joined_rows_are_what_the_models_themselves_read(django_assert_num_queries):
    study = make_pair_study([make_user()], items=3)
    Session.objects.update(extra={"requirements": ["short", "true"]})
    with django_assert_num_queries(1):
        rows = ITEMS.rows(slug=study.slug, nobody=0)
    assert len(rows) == 3
    for row in rows:
        assert row.pop("profile") is None
        for instance in row.values():
            stored = type(instance).objects.get(pk=instance.pk)
            names = [field.attname for field in instance._meta.concrete_fields]
            assert [getattr(instance, name) for name in names] == [
                getattr(stored, name) for name in names
            ]
            assert not instance._state.adding
    assert rows[0]["talk"].extra == {"requirements": ["short", "true"]}
    assert isinstance(rows[0]["study"].created_at, datetime)
    assert rows[0]["study"].created_at.tzinfo is not None


def test_no_row_is_an_empty_list():
    assert ITEMS.rows(slug="nowhere", nobody=0) == []
