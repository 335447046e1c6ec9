"""Many people sign in at the same moment, with the right password, while one labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from sensejudge_site.benches.annotate.site import Server, Site
from tests.attacks import Outcome
from tests.attacks._sign_ins import Answer, Visitor

PASSWORD = "everybody's in this attack"
CROWDS = (24, 64)
SLOWEST_PAGE_S, MOST_ADDED_MB = 5.0, 150.0
_MAKE = f"""
from django.contrib.auth.hashers import make_password
from annotation.models import User
password = make_password({PASSWORD!r})
User.objects.bulk_create(User(username=f"user-{{n}}", password=password) for n in range(65))
"""


def attack(site: Site) -> Outcome:
    """How long others wait meanwhile, what memory it takes, and how many are in."""
    site.manage("shell", "-c", _MAKE)
    figures: dict[str, float | str] = {}
    held = True
    for crowd in CROWDS:
        with site.server() as server:
            answers, pages, forms, added = _rush(server, crowd)
        admitted = sum(each.admitted for each in answers)
        longest = max(each.seconds for each in answers)
        figures |= {
            f"of_{crowd}_admitted": admitted,
            f"of_{crowd}_asked_to_come_again": sum(each.refused for each in answers),
            f"of_{crowd}_longest_s": round(longest, 2),
            f"of_{crowd}_slowest_page_s": round(max(pages), 2),
            f"of_{crowd}_slowest_form_s": round(max(forms), 2),
            f"of_{crowd}_added_mb": round(added, 1),
        }
        # On a busy machine all takes longer: then nobody waits for half of the rush.
        bearable = max(SLOWEST_PAGE_S, longest / 2)
        held = held and max(pages + forms) < bearable and added < MOST_ADDED_MB
        held = held and admitted > 0 and all(each.admitted or each.refused for each in answers)
    return Outcome(held=held, figures=figures)


def _rush(server: Server, crowd: int) -> tuple[list[Answer], list[float], list[float], float]:
    """The answers to all; seconds of another's pages and of the form meanwhile; MB at the most."""
    labeller = Visitor(server.port)
    labeller.sign_in("user-64", PASSWORD)
    people = [Visitor(server.port, source=f"127.0.1.{n + 1}") for n in range(crowd)]
    forms = [each.csrf() for each in people]
    before = server.resident_mb() or 0.0
    barrier, over = Barrier(crowd + 3), Event()

    def sign_in(number: int) -> Answer:
        barrier.wait()
        return people[number].send_form(forms[number], f"user-{number}", PASSWORD)

    def again_and_again(measure: Callable[[], float]) -> list[float]:
        barrier.wait()
        measured = []
        while not over.is_set():
            measured.append(measure())
            time.sleep(0.02)
        return measured

    stranger = Visitor(server.port)
    with ThreadPoolExecutor(crowd + 3) as threads:
        pages = threads.submit(again_and_again, lambda: labeller.get("/studies/").seconds)
        page_forms = threads.submit(again_and_again, lambda: stranger.get("/sign-in/").seconds)
        held = threads.submit(again_and_again, lambda: server.resident_mb() or 0.0)
        answers = list(threads.map(sign_in, range(crowd)))
        over.set()
        return answers, pages.result(), page_forms.result(), max(held.result()) - before
