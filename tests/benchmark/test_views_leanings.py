from __future__ import annotations

import pytest

from annotation.models import Response
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import record
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study():
    """B, the response of beta, is the longer one in every comparison."""
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="ABBB")
    return stage, ann


def section(page):
    return page.split("Length bias")[1].split("</section>")[0]


def test_length_bias_stands_before_and_after_preferences_beside_the_annotator(viewer):
    study()
    part = section(one_line(viewer.get("/trust/")))
    annotator, base, selected = part.split("<tbody>")[1].split("<tr>")[1:4]
    assert "Annotator" in annotator
    assert "50 %" in annotator
    assert "Base judge" in base
    assert "100 %" in base
    assert "unbounded" in base
    # The judge names the longer wherever the annotator chose the shorter, and never the shorter.
    assert "+100" in base
    assert "Selected preferences" in selected
    assert "75 %" in selected
    assert "+50" in selected


def test_a_judge_s_own_family_is_shown_to_those_who_see_models(client):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    Response.objects.filter(model="alpha").update(model="gpt-4")
    stage.label(ann, "AABB")
    record(stage, "gpt4_pair", "AAAB")
    client.force_login(make_user(role="VIEWER"))
    part = section(one_line(client.get("/trust/")))
    row = part.split("Own family")[1]
    assert "<th>gpt</th>" in row
    assert "75 %" in row
    assert "+25" in row
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    page = one_line(client.get("/trust/"))
    assert "Length bias" not in page  # annotators see two sentences


def test_without_texts_and_families_there_is_nothing_to_show(viewer):
    study()
    Response.objects.update(text=None)
    assert "Length bias" not in one_line(viewer.get("/trust/"))
