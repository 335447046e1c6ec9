from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from judging.services.interrupts import TerminatedError, interruptions, wait_for


@pytest.fixture(autouse=True)
def listens():
    """Handles Ctrl-C as a shell's command does, also if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(*numbers):
    """How often the block went on after a signal."""
    went_on = []
    try:
        with interruptions():
            for number in numbers:
                signal.raise_signal(number)
                went_on.append(number)
    except KeyboardInterrupt as error:
        return len(went_on), type(error)
    return len(went_on), None


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, TerminatedError)]
)
def test_a_signal_is_noted_and_raised_at_the_end_of_the_block(number, error):
    assert signalled(number) == (1, error)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_signal_ends_the_block_at_once():
    assert signalled(signal.SIGINT, signal.SIGINT) == (1, KeyboardInterrupt)


def test_without_a_signal_nothing_happens():
    with interruptions() as asked:
        assert asked is not None
    assert not asked.is_set()


def test_other_threads_and_workers_with_signals_of_their_own_are_left_alone():
    events = []

    def elsewhere():
        with interruptions() as asked:
            events.append(asked)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        elsewhere()
    finally:
        signal.signal(signal.SIGINT, before)
    assert events == [None, None]


def test_a_coroutine_is_cancelled_by_a_signal():
    ended = []

    async def wait():
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        wait_for(wait)
    assert ended == [True]


def test_a_coroutine_gives_what_it_found():
    async def add(first, second):
        return first + second

    assert wait_for(add, 1, 2) == 3
