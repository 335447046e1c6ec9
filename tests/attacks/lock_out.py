"""Passwords that are guessed behind a proxy, for one user name and for many; and who suffers.

The requests say in `X-Forwarded-For` what a proxy of TRUSTED_PROXIES=1 would say: the client's own
words first, then the address it comes from.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome
from tests.attacks._sign_ins import Answer, Visitor

PASSWORD = "hers alone, and long"
OWNER, GUESSED, PATIENT, PROGRAM, NETWORK = OWNERS = ("owner", "guessed", "patient", "by", "v6")
NAME_LIMIT, ADDRESS_LIMIT = 8, 30
_MAKE = f"""
from django.contrib.auth.hashers import make_password
from annotation.models import User
password = make_password({PASSWORD!r})
User.objects.bulk_create(User(username=name, password=password) for name in {OWNERS!r})
"""
_AGE = """
from datetime import timedelta
from axes.models import AccessAttempt
from django.utils import timezone
AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=14, seconds=30))
"""


def attack(site: Site) -> Outcome:
    """How many guesses were looked at, and whether their owner can still sign in."""
    site.manage("shell", "-c", _MAKE)
    with site.having(TRUSTED_PROXIES="1").server() as server:
        port = server.port

        def guess(name: str, number: int, address: str = "198.51.100.1") -> Answer:
            return _client(port, address, said=f"10.0.0.{number}").sign_in(name, f"guess {number}")

        with ThreadPoolExecutor(24) as threads:
            at_once = list(threads.map(lambda number: guess(GUESSED, number), range(24)))
        for number in range(12):
            guess(OWNER, number)
        owner = _client(port, "198.51.100.2").sign_in(OWNER, PASSWORD)
        spray = [guess(f"name-{number}", number, "198.51.100.3") for number in range(200)]
        for number in range(12):
            guess(PATIENT, number, "198.51.100.4")
        site.manage("shell", "-c", _AGE)  # half a minute is left of the lock
        aged = time.monotonic()
        for number in range(5):  # too few for a lock of their own
            guess(PATIENT, number, "198.51.100.4")
        time.sleep(max(0.0, aged + 31 - time.monotonic()))
        patient = _client(port, "198.51.100.4").sign_in(PATIENT, PASSWORD)
        tokens = [_client(port, "198.51.100.5").token(PROGRAM, f"guess {n}") for n in range(24)]
        token = _client(port, "198.51.100.6").token(PROGRAM, PASSWORD)
        network = [guess(NETWORK, n, f"2001:db8::{n + 1:x}") for n in range(24)]
    everything = [*at_once, owner, *spray, patient, *tokens, token, *network]
    figures: dict[str, float | str] = {
        "guesses_looked_at_of_24_at_once": _looked_at(at_once),
        "owner_admitted_from_her_address": int(owner.admitted),
        "names_looked_at_of_200": _looked_at(spray),
        "admitted_31_s_on_with_30_s_left_after_failures": int(patient.admitted),
        "token_guesses_looked_at_of_24": _looked_at(tokens),
        "token_for_its_owner": int(token.admitted),
        "guesses_looked_at_of_24_from_one_network": _looked_at(network),
        "server_errors": sum(each.status == 500 for each in everything),
    }
    held = (
        max(_looked_at(at_once), _looked_at(tokens), _looked_at(network)) < NAME_LIMIT
        and _looked_at(spray) < ADDRESS_LIMIT
        and all(each.admitted for each in (owner, patient, token))
        and not figures["server_errors"]
    )
    return Outcome(held=held, figures=figures)


def _client(port: int, address: str, said: str = "") -> Visitor:
    hops = ", ".join(filter(None, (said, address)))
    return Visitor(port, headers={"X-Forwarded-For": hops})


def _looked_at(answers: list[Answer]) -> int:
    """Answers that do not speak of a lock; the guess that brought it about is one more."""
    return sum(not each.refused for each in answers)
