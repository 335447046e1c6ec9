"""A budget is a wall: whatever happens to calls, no more than it can have been spent."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from judging.llm.errors import LlmError
from judging.models import JudgeRun
from judging.services.endpoints import RunBudgetHold, set_budget
from tests.clock import until
from tests.factory import make_endpoint, make_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return make_run(budget=Decimal(10))


def held(run):
    return JudgeRun.objects.get(pk=run.pk).held


def play(run, scene):
    """A scene for a purse, in an event loop whose database work is this thread's."""
    async_to_sync(scene)(RunBudgetHold(run))


def test_what_a_call_may_cost_is_held_until_it_has_cost_less(run):
    async def scene(purse):
        await purse.take("a", Decimal(4))
        assert await sync_to_async(held)(run) == 4
        await sync_to_async(purse.settle)({"a": Decimal("0.5")})

    play(run, scene)
    assert held(run) == Decimal("0.5")


def test_a_call_that_could_pass_the_budget_is_not_sent(run):
    async def scene(purse):
        await purse.take("a", Decimal(10))
        await sync_to_async(purse.settle)({"a": Decimal("9.5")})
        await purse.take("b", Decimal("0.5"))  # exactly what is left
        await sync_to_async(purse.settle)({"b": Decimal("0.4")})
        for _ in range(2):
            with pytest.raises(LlmError, match="budget:spent"):
                await purse.take("c", Decimal("0.2"))
        await purse.take("d", Decimal("0.1"))  # a smaller one still fits

    play(run, scene)
    assert held(run) == 10


def test_a_call_waits_for_those_under_way_to_cost_less_than_they_might(run):
    order = []

    async def scene(purse):
        async def late():
            await purse.take("b", Decimal(8))
            order.append("granted")

        await purse.take("a", Decimal(8))
        waiting = asyncio.create_task(late())
        for _ in range(5):
            await asyncio.sleep(0)
            await sync_to_async(held)(run)
        order.append("settling")
        await sync_to_async(purse.settle)({"a": Decimal(1)})
        await waiting

    play(run, scene)
    assert order == ["settling", "granted"]
    assert held(run) == 9


def test_replies_that_wait_to_be_stored_are_stored_when_money_is_short(run):
    async def scene(purse):
        async def store():
            await sync_to_async(purse.settle)({"a": Decimal(1)})

        purse.settle_now = store
        await purse.take("a", Decimal(8))
        purse.landed("a")
        await purse.take("b", Decimal(8))

    play(run, scene)
    assert held(run) == 9


def test_a_refused_call_gives_its_money_back(run):
    async def scene(purse):
        await purse.take("a", Decimal(8))
        purse.give_back("a")
        assert not purse.is_settled
        await purse.take("b", Decimal(9))
        assert purse.is_settled

    play(run, scene)
    assert held(run) == 9


def test_a_call_of_unknown_fate_stays_held(run):
    async def scene(purse):
        await purse.take("a", Decimal(8))
        purse.write_off("a")
        with pytest.raises(LlmError, match="budget:spent"):
            await purse.take("a", Decimal(3))
        await purse.take("a", Decimal(2))  # another try of the same call is another price
        await sync_to_async(purse.settle)({"a": Decimal(1)})

    play(run, scene)
    assert held(run) == 9


def test_a_reply_of_unknown_cost_keeps_its_dearest_price(run):
    async def scene(purse):
        await purse.take("a", Decimal(3))
        await sync_to_async(purse.settle)({"a": None})

    play(run, scene)
    assert held(run) == 3


def test_several_workers_share_one_budget(run):
    async def scene(purse):
        other = RunBudgetHold(run)
        await purse.take("a", Decimal(6))
        with pytest.raises(LlmError, match="budget:spent"):
            await other.take("b", Decimal(6))
        await other.take("c", Decimal(4))

    play(run, scene)
    assert held(run) == 10


def test_calls_that_ask_together_are_granted_in_their_order(run):
    async def scene(purse):
        takers = [asyncio.create_task(purse.take(str(n), Decimal(3))) for n in range(5)]
        await until(lambda: sum(task.done() for task in takers) >= 3)
        assert [task.done() for task in takers] == [True] * 3 + [False] * 2
        waiting = takers[3:]
        await sync_to_async(purse.settle)({str(n): Decimal(3) for n in range(3)})
        await asyncio.wait(waiting)
        assert all(isinstance(task.exception(), LlmError) for task in waiting)

    play(run, scene)
    assert held(run) == 9


def test_whoever_stops_waiting_leaves_nothing_held(run):
    async def scene(purse):
        await purse.take("a", Decimal(8))
        waiting = asyncio.create_task(purse.take("b", Decimal(8)))
        await asyncio.sleep(0)
        waiting.cancel()
        await sync_to_async(purse.settle)({"a": Decimal(1)})
        await purse.take("c", Decimal(9))
        await sync_to_async(purse.settle)({"c": Decimal(9)})

    play(run, scene)
    assert held(run) == 10


def test_without_a_budget_nothing_is_asked_and_the_cost_is_noted():
    run = make_run()

    async def scene(purse):
        await purse.take("a", Decimal(1_000_000))
        await sync_to_async(purse.settle)({"a": Decimal(2), "b": None})

    play(run, scene)
    assert held(run) == 2


def test_a_budget_that_is_taken_away_meanwhile_no_longer_limits(run):
    async def scene(purse):
        await sync_to_async(set_budget)(run.pk, None)
        await purse.take("a", Decimal(11))

    play(run, scene)
    assert held(run) == 11


def test_whoever_waits_is_told_of_a_database_that_is_gone(run):
    async def scene(purse):
        await sync_to_async(JudgeRun.objects.all().delete)()
        with pytest.raises(JudgeRun.DoesNotExist):
            await purse.take("a", Decimal(1))

    play(run, scene)


def test_only_a_judge_with_prices_can_have_a_budget():
    priced = make_run(endpoint=make_endpoint(input_price=1))
    set_budget(priced.pk, Decimal("2.5"))
    assert JudgeRun.objects.get(pk=priced.pk).budget == Decimal("2.5")
    with refuses("budget:negative"):
        set_budget(priced.pk, Decimal(-1))
    for run in (make_run(), make_run(endpoint=make_endpoint())):
        with refuses("budget:no-prices", match="no prices"):
            set_budget(run.pk, Decimal(1))
        set_budget(run.pk, None)
