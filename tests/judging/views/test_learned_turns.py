"""The page of a turn that the learned evaluator scored says what moved the score."""

from __future__ import annotations

import pytest

from judging.core.satisfaction_features import Group
from judging.core.satisfaction_model import Explained, to_text
from judging.models import RunKind, SatisfactionJudgment
from tests.factory import make_rating, make_response, make_run, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("judge", ["learned", "lexical"])
def test_what_moved_a_score_stands_beside_it(client, judge):
    response = make_response(original=True)
    rating = make_rating(response, score=5)
    run = make_run(response.turn.session.dataset, kind=RunKind.SATISFACTION, judge=judge)
    explained = Explained(0.25, 4.1, {Group.LENGTH: -0.6, Group.LEVEL: 0.02, Group.STYLE: 0.0})
    row = SatisfactionJudgment.objects.create(
        run=run,
        user=rating.annotator,
        response=response,
        status="DONE",
        score=3,
        expected_score=3.5,
        reason="INSUFFICIENT_DETAIL",
        calibrated=3,
        raw=to_text(explained),
    )
    client.force_login(make_user(role="VIEWER"))
    shown = " ".join(client.get(f"/runs/{run.pk}/turns/{row.pk}/").content.decode().split())
    told = judge == "learned"
    assert ("Chance that the user is dissatisfied: 25 %." in shown) is told
    assert ('<th>response length</th><td class="n">\u22120.60</td>' in shown) is told
    assert ("general scoring of this user" in shown) is told
    assert "<th>style</th>" not in shown
