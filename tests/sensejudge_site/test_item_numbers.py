"""No address tells an annotator anything of a study item by the item's own number."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from django.db.models import F
from django.urls import Resolver404, URLResolver, get_resolver, resolve, reverse
from django.utils.regex_helper import normalize

from annotation.models import ItemKind
from annotation.views.labelling import HiddenItemConverter
from judging.models import ConversationMessage
from tests.factory import make_claim, make_item, make_study, make_user
from tests.judging.talks import begun, make_talk_study, say

pytestmark = pytest.mark.django_db

WORDS = {
    "app_label": "annotation",
    "format": "json",
    "format_name": "csv",
    "language": "en",
    "name": "judge_pair",
    "token": "none",
    "url": "nothing",
}
KINDS = ("labels", "judgments", "comparison")
FIRST = 7_000_000  # items have numbers far from those of all other rows
NOBODYS = FIRST + 99
_OF_A_REQUEST = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|"x-csrftoken": "\w+"')


@dataclass(frozen=True)
class Route:
    """An address as a template, its parameters in order, and what reads those of its last part."""

    template: str
    names: tuple[str, ...]
    converters: dict

    @property
    def numbers(self):
        return set(self.names) - {*WORDS, "slug", "kind"}

    @property
    def is_of_studies(self):
        return self.template.startswith("studies/%(slug)s/")

    def addresses(self, slug, number):
        numbers = dict.fromkeys(self.numbers, number)
        for kind in KINDS if "kind" in self.names else ("",):
            address = "/" + self.template % {**WORDS, "slug": slug, "kind": kind, **numbers}
            try:
                resolve(address)
            except Resolver404:  # of several kinds some are no words of this route
                continue
            yield address


def routes_below(patterns, prefix="", names=()):
    for each in patterns:
        for text, own in normalize(each.pattern.regex.pattern):
            if isinstance(each, URLResolver):
                yield from routes_below(each.url_patterns, prefix + text, (*names, *own))
            else:
                yield Route(prefix + text, (*names, *own), each.pattern.converters)


def routes_with_numbers():
    return [each for each in routes_below(get_resolver().url_patterns) if each.numbers]


def seen(client, method, address, number):
    """What comes of a request, but for the number itself and what is another each time."""
    answer = getattr(client, method)(address)
    body = b"".join(answer) if answer.streaming else answer.content
    text = _OF_A_REQUEST.sub("", body.decode())
    place = answer.headers.get("Location", "")
    return answer.status_code, place.replace(str(number), "N"), text.replace(str(number), "N")


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


@pytest.fixture
def pairs(annotator):
    """A study of pairs: an item and its repeat are the annotator's, another is not."""
    study = make_study(annotators=[annotator], repeat_rate=0.3)
    first = make_item(study, pk=FIRST)
    again = make_item(
        study, pk=FIRST + 1, comparison=first.comparison, kind=ItemKind.REPEAT, repeat_of=first
    )
    for item in (first, again):
        make_claim(item, annotator, state="DONE")
    make_claim(make_item(study, pk=FIRST + 2), make_user())
    return study


@pytest.fixture
def talks(annotator):
    """A study of conversations: the annotator talks in the first."""
    study = make_talk_study([annotator], items=2)
    study.items.update(id=F("id") + 2 * FIRST)
    say(begun(study, annotator), "Hello")
    return study


@pytest.mark.parametrize("kind", ["pairs", "talks"])
def test_an_items_own_number_tells_nothing_at_any_address(client, request, kind):
    study = request.getfixturevalue(kind)
    own = list(study.items.order_by("pk").values_list("pk", flat=True))
    walked = 0
    for route in routes_with_numbers():
        for slug in (study.slug, study.dataset.slug)[: 1 + ("slug" in route.names)]:
            for method in ("get", "post"):
                outcomes = {
                    seen(client, method, address, number)
                    for number in (*own, NOBODYS)
                    for address in route.addresses(slug, number)
                }
                assert len(outcomes) <= 1, (route.template, method)
                walked += len(outcomes)
    assert walked > 200


def test_what_annotators_reach_under_a_study_is_addressed_by_the_hidden_number(client, pairs):
    hidden = set()
    for route in (each for each in routes_with_numbers() if each.is_of_studies):
        for address in route.addresses(pairs.slug, FIRST):
            refused = {getattr(client, method)(address).status_code for method in ("get", "post")}
            if not refused <= {403, 405}:
                assert isinstance(route.converters.get("number"), HiddenItemConverter), address
                hidden.add(route.template)
    assert len(hidden) == 16


def test_no_page_of_a_conversation_holds_its_items_own_number(client, talks):
    own = str(talks.items.order_by("pk").first().pk)
    message = ConversationMessage.objects.get()
    pages = [
        client.get(reverse("annotation:next", args=[talks.slug]), follow=True),
        client.get(
            reverse("judging:talk-reply", args=[talks.slug, own, message.pk]),
            headers={"HX-Request": "true"},
        ),
    ]
    for page in pages:
        assert page.status_code == 200
        assert own not in page.content.decode()
        assert own not in str(page.headers)


TALKS = ("talk-send", "talk-retry", "talk-withdraw", "talk-stop", "talk-tick", "talk-end")


@pytest.mark.parametrize("status", ["OPEN", "PAUSED", "CLOSED"])
@pytest.mark.parametrize("number", [FIRST, NOBODYS])
def test_there_is_no_conversation_in_a_study_of_pairs(client, pairs, number, status):
    type(pairs).objects.update(status=status)
    assert client.get(reverse("judging:talk", args=[pairs.slug, number])).status_code == 404
    for name in TALKS:
        form = {"text": "Hello", "submission": "a" * 32}
        assert (
            client.post(reverse(f"judging:{name}", args=[pairs.slug, number]), form).status_code
            == 404
        )
    reply = reverse("judging:talk-reply", args=[pairs.slug, number, 1])
    for headers in ({}, {"HX-Request": "true"}):
        assert client.get(reply, headers=headers).status_code == 404
