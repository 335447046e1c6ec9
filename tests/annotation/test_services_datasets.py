from __future__ import annotations

import pytest

from annotation.models import Response
from annotation.services.datasets import AddedResponse, NewResponse, add_responses
from tests.factory import make_response, make_turn

pytestmark = pytest.mark.django_db


def test_responses_join_their_turn_once(django_assert_num_queries):
    turn, other = make_turn(), make_turn()
    there = make_response(turn, model="m", text="old", position=4)
    wanted = [
        NewResponse(turn.pk, "m", "", "old"),
        NewResponse(turn.pk, "m", "", "new"),
        NewResponse(turn.pk, "m", "", "new"),
        NewResponse(turn.pk, "m", "memory", "new"),
        NewResponse(other.pk, "m", "", "", continues=there.pk),
    ]
    with django_assert_num_queries(4):
        added = add_responses(wanted)
    assert added[0] == AddedResponse(there.pk, is_new=False)
    assert [one.is_new for one in added] == [False, True, False, True, True]
    assert added[1].id == added[2].id
    assert list(turn.responses.order_by("position").values_list("position", "variant", "text")) == [
        (4, "", "old"),
        (5, "", "new"),
        (6, "memory", "new"),
    ]
    assert Response.objects.get(turn=other).continues == there
    with django_assert_num_queries(2):
        assert not any(one.is_new for one in add_responses(wanted))


def test_rows_go_in_in_one_order_for_all():
    turn = make_turn()
    wanted = [NewResponse(turn.pk, model, "", "text") for model in "bca"]
    add_responses(wanted)
    assert "".join(Response.objects.order_by("pk").values_list("model", flat=True)) == "abc"
    assert "".join(turn.responses.order_by("position").values_list("model", flat=True)) == "bca"
