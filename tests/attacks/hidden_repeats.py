"""An annotator tries to tell hidden repeats: by numbers, by coming back, by the site's language.

Two share a study. Items are numbered in the order of the plan, and a repeat comes to an annotator
later than its place in it: so one whose number is below another's that came before is a repeat,
for anybody who sees numbers. Whatever address answers otherwise for some numbers shows them. An
item that is another one after signing out and in again is a repeat that came early, and so is one
that comes ahead in both languages of the site where others come in one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from sensejudge_site.benches.annotate.client import Browser, answer_form
from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome

_QUESTION: Final = re.compile(r"Question \d+\?")
_PASSWORD: Final = "the repeats are hidden"
_STUDY: Final = "hidden"
_PAIRS: Final = 180
_LABELLED: Final = 90
_LEARNED_ON: Final = 12  # items after which the attacker looks for an address that tells something
_WALKED: Final = 60  # numbers tried at each address; of those, some are one's own at any time
_NEAR: Final = 8  # the colleague takes at most two items in between
_UNDER_AN_ITEM: Final = (
    *("", "ahead/", "answer/", "ratings/", "turns/1/raw/", "skip/", "lease/"),
    *("talk/", "talk/send/", "talk/retry/", "talk/stop/", "talk/requirements/", "talk/end/"),
)
_ADDRESSES: Final = (
    *(f"/studies/{_STUDY}/items/%d/{place}" for place in _UNDER_AN_ITEM),
    *(f"/studies/{_STUDY}/work/%d/", "/sessions/%d/", "/comparisons/%d/", "/preferences/%d/"),
    *("/preference-sets/%d/", "/memories/%d/", "/runs/%d/", "/runs/%d/preferences/"),
    *("/api/v1/labels/%d/", "/api/v1/comparisons/%d/", "/gold/comparison/%d/"),
    "/admin/annotation/studyitem/%d/change/",
)
_FILL: Final = f"""
from annotation.models import *
from annotation.services.studies import make_items
people = [User.objects.create_user(name, password={_PASSWORD!r}, role="ANNOTATOR")
          for name in ("attacker", "colleague")]
dataset = Dataset.objects.create(slug="pairs", name="Pairs")
scenario = Scenario.objects.create(dataset=dataset, name="Writing")
pairs = []
for place in range({_PAIRS}):
    session = Session.objects.create(dataset=dataset, scenario=scenario, key=str(place),
                                     language=("en", "zh")[place % 2], position=place)
    turn = Turn.objects.create(session=session, position=0, user_message=f"Question {{place}}?")
    a, b = (Response.objects.create(turn=turn, model=model, text=model, position=at)
            for at, model in enumerate(("one", "other")))
    pairs.append(Comparison.objects.create(
        turn=turn, response_a=a, response_b=b, key=str(place), position=place).pk)
study = Study.objects.create(slug={_STUDY!r}, name="Hidden", kind="PAIRWISE", status="OPEN",
                             dataset=dataset, repeat_rate=0.12)
study.annotators.set(people)
make_items(study, pairs)
"""
_GIVEN: Final = """
import json
import re
from annotation.models import Claim
kinds = Claim.objects.filter(annotator__username="attacker").order_by("claimed_at", "pk")
print(json.dumps([list(row) for row in kinds.values_list("item_id", "item__kind")]))
"""


def attack(site: Site) -> Outcome:
    """Label items, and before each answer look which number of an item has become one's own."""
    site.manage("shell", "-c", _FILL)
    with site.server() as server:
        attacker, colleague = Browser(server.port), Browser(server.port)
        for browser, name in ((attacker, "attacker"), (colleague, "colleague")):
            if not browser.sign_in(name, _PASSWORD):
                message = f"{name} cannot sign in"
                raise RuntimeError(message)
        walk = _Walk(attacker)
        visits = _Visits(attacker)
        random = Random(42)
        for place in range(_LABELLED):
            page = visits.come_back(place)
            visits.look_ahead(place, page)
            walk.look(place)
            _answer(attacker, page)
            colleague.close()  # the server may have hung up meanwhile
            for _item in range(random.randrange(3)):
                _answer(colleague, colleague.get(f"/studies/{_STUDY}/next/").body)
        walk.learn()  # once more, with all that is one's own
        attacker.close()
        colleague.close()
    given = json.loads(site.manage("shell", "-c", _GIVEN).strip().splitlines()[-1])
    repeats = {place for place, (_item, kind) in enumerate(given) if kind == "REPEAT"}
    return Outcome(
        held=all(
            len(alarms & repeats) <= len(alarms) * len(repeats) / len(given)  # by chance
            for alarms in (walk.alarms, visits.changed, visits.alike())
        ),
        figures={
            "items": len(given),
            "repeats": len(repeats),
            "repeats_identified": len(walk.alarms & repeats),
            "false_alarms": len(walk.alarms - repeats),
            "identified_by_coming_back": len(visits.changed & repeats),
            "identified_by_language": len(visits.alike() & repeats),
            "addresses": len(_ADDRESSES),
            "telling_addresses": len(walk.telling),
            "requests": walk.requests,
        },
    )


class _Visits:
    """What an annotator sees who signs out at each item, and looks ahead in both languages."""

    def __init__(self, browser: Browser) -> None:
        self.changed: set[int] = set()
        self._browser = browser
        self._alike: set[int] = set()
        self._differ = 0

    def come_back(self, place: int) -> str:
        """Take an item, sign out and in, and take it again; the page of the second time."""
        path = f"/studies/{_STUDY}/next/"
        first = self._browser.get(path).body
        form = answer_form(first)
        token = form.fields["csrfmiddlewaretoken"] if form else ""
        self._browser.post("/sign-out/", {"csrfmiddlewaretoken": token})
        self._browser.sign_in("attacker", _PASSWORD)
        page = self._browser.get(path).body
        if _QUESTION.findall(page) != _QUESTION.findall(first):
            self.changed.add(place)
        return page

    def look_ahead(self, place: int, page: str) -> None:
        """Have the next page prepared in both languages."""
        address = re.search(r'data-ahead="([^"]+)"', page)
        if address is None:
            return
        asked = set()
        for language in ("zh-hans", "en"):
            self._browser.cookies["django_language"] = language
            asked.add(tuple(_QUESTION.findall(self._browser.get(address[1]).body)))
        if len(asked) > 1:
            self._differ += 1
        else:
            self._alike.add(place + 1)

    def alike(self) -> set[int]:
        """Places of what came in both languages, where others did not."""
        return self._alike if self._differ else set()


class _Walk:
    """What an annotator learns by walking numbers; `alarms` are places of items, from 0."""

    def __init__(self, browser: Browser) -> None:
        self.alarms: set[int] = set()
        self.telling: list[str] = []
        self.requests = 0
        self._browser = browser
        self._own: set[int] = set()

    def look(self, place: int) -> None:
        """See which number the item at hand has: one below another's that came before is odd."""
        if place == _LEARNED_ON:
            self.learn()
        elif self.telling:
            new = next(self._new(self.telling[0]), None)
            if new is None:
                return
            if new < max(self._own):
                self.alarms.add(place)
            self._own.add(new)

    def learn(self) -> None:
        """Find the addresses that answer otherwise for some numbers; those are one's own."""
        for address in _ADDRESSES:
            own = set(self._odd(address, range(1, _WALKED + 1)))
            if own and address not in self.telling:
                self.telling.append(address)
                self._own = self._own or own

    def _new(self, address: str) -> Iterator[int]:
        """Numbers that have become one's own: those that are due first, then those left behind."""
        top = max(self._own)
        left = [each for each in range(1, top) if each not in self._own]
        return self._odd(address, (*range(top + 1, top + _NEAR), *reversed(left)))

    def _odd(self, address: str, numbers: Iterable[int]) -> Iterator[int]:
        usual = self._status(address % (10**9 + 7))
        return (each for each in numbers if self._status(address % each) != usual)

    def _status(self, path: str) -> int:
        self.requests += 1
        return self._browser.get(path).status


def _answer(browser: Browser, page: str) -> None:
    form = answer_form(page)
    if form is not None:
        browser.post(form.action, form.fields)
