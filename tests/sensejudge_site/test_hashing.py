"""Passwords are hashed with little memory, two at a time, and not at all in a rush."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import (
    Argon2PasswordHasher,
    check_password,
    identify_hasher,
    make_password,
)

from sensejudge_site import hashing
from sensejudge_site import settings as site_settings
from sensejudge_site.hashing import HASHES, RUSH_SECONDS, HashQueue
from sensejudge_site.sign_in import BusyError
from tests.clock import PATIENCE
from tests.factory import make_user


@pytest.fixture
def _own_hashers(settings):
    settings.PASSWORD_HASHERS = site_settings.PASSWORD_HASHERS


@pytest.fixture
def now(monkeypatch):
    """The clock of queues, in a list."""
    clock = [1000.0]
    monkeypatch.setattr(hashing.time, "monotonic", lambda: clock[0])
    return clock


@pytest.mark.usefixtures("_own_hashers")
class TestHashers:
    def test_a_hash_takes_19_mib(self):
        encoded = make_password("word")
        decoded = identify_hasher(encoded).decode(encoded)
        assert (decoded["memory_cost"], decoded["time_cost"], decoded["parallelism"]) == (
            19 * 1024,
            2,
            1,
        )

    @pytest.mark.django_db
    def test_a_password_that_was_hashed_with_more_is_hashed_anew_once_it_is_right(self):
        user = make_user()
        user.password = Argon2PasswordHasher().encode("word", "a salt of 22 letters!!")
        user.save()
        assert not user.check_password("another")
        assert "m=102400" in user.password
        assert user.check_password("word")
        user.refresh_from_db()
        assert "m=19456,t=2,p=1" in user.password
        assert user.check_password("word")

    def test_one_method_of_a_hasher_may_call_another(self):
        encoded = make_password("word", hasher="pbkdf2_sha256")
        assert check_password("word", encoded)
        assert not check_password("another", encoded)


class TestQueue:
    def test_two_are_hashed_at_a_time_and_all_of_them_are(self):
        queue, lock, running, most = HashQueue(), threading.Lock(), [0], [0]
        together = threading.Barrier(HASHES, timeout=PATIENCE)

        def hash_one():
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            together.wait()
            with lock:
                running[0] -= 1
            return "hashed"

        with ThreadPoolExecutor(24) as threads:
            done = list(threads.map(lambda _n: queue.hashed(hash_one), range(24)))
        assert done == ["hashed"] * 24
        assert most[0] == HASHES

    def test_a_fault_is_its_caller_s(self):
        queue = HashQueue()

        def fail():
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            queue.hashed(fail)
        assert queue.hashed(lambda: 1) == 1

    def test_in_a_rush_the_next_ones_are_refused(self, now):
        queue = HashQueue()
        with full(queue):
            assert not refuses(queue)  # the rush begins
            now[0] += RUSH_SECONDS - 0.01
            assert not refuses(queue)
            now[0] += 0.02
            assert refuses(queue)
            now[0] += RUSH_SECONDS - 0.01
            assert refuses(queue)
        assert not refuses(queue)  # there is a free turn
        now[0] += RUSH_SECONDS
        with full(queue):
            assert not refuses(queue)  # that rush was over

    def test_who_comes_when_nobody_is_there_is_never_refused(self, now):
        queue = HashQueue()
        for _time in range(100):
            assert not refuses(queue)
            now[0] += 0.05

    def test_who_has_a_place_needs_no_second(self):
        queue = HashQueue()
        with queue.place(), queue.place():
            assert queue._inside == 1
            assert queue.hashed(lambda: 1) == 1
        assert queue._inside == 0


class full:  # noqa: N801 - reads as a function
    """As many places as turns, taken by other threads until the end of the block."""

    def __init__(self, queue):
        self.queue, self.over = queue, threading.Event()
        self.inside = threading.Barrier(HASHES + 1)

    def __enter__(self):
        self.threads = [threading.Thread(target=self._stay) for _n in range(HASHES)]
        for thread in self.threads:
            thread.start()
        self.inside.wait()

    def __exit__(self, *_error):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _stay(self):
        with self.queue.place():
            self.inside.wait()
            self.over.wait()


def refuses(queue):
    """Whether somebody who comes now is refused."""
    try:
        with queue.place():
            return False
    except BusyError:
        return True
