"""Which response is shown first has no part in what is found.

The same people give the same answers in two studies of the same pairs; in the second, every pair is
shown the other way round. Labels, agreement and leaderboard, downloaded as a researcher would, are
the same; only the shown order differs.
"""

from __future__ import annotations

import csv
import io
from random import Random

import pytest
from django.test import Client
from django.urls import reverse

from annotation.core.choices import Order
from annotation.models import Claim, ClaimState
from tests.annotation.pages import answered, show
from tests.factory import (
    make_comparison,
    make_dataset,
    make_item,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

MODELS = ("alpha", "beta", "gamma")
PAIRS = 12
PEOPLE = ("ann", "bob", "cyd")
FIRST, SECOND = ("FIRST_MUCH", "FIRST_BETTER"), ("SECOND_MUCH", "SECOND_BETTER")


def make_pairs(slug, annotators):
    """A study in which each pair goes to all; its texts are the same whatever it is called."""
    dataset = make_dataset(slug=slug)
    scenarios = [make_scenario(dataset, name=name) for name in ("Writing", "Code")]
    rules = {"allow_tie": True, "allow_strength": True, "allow_both_bad": True}
    study = make_study(dataset, slug=slug, annotators=annotators, overlap=len(annotators), **rules)
    for number in range(PAIRS):
        turn = make_turn(make_session(scenarios[number % 2]), user_message=f"Question {number}?")
        one, other = Random(number).sample(MODELS, 2)
        a = make_response(turn, text=f"Reply {number} a.", model=one)
        b = make_response(turn, text=f"Reply {number} b.", model=other)
        make_item(study, comparison=make_comparison(turn, response_a=a, response_b=b, key=number))
    return study


def opinion(person, question):
    """What a person thinks of a pair: the better text (None: neither), how clearly, both bad."""
    usual = Random(question).choice(["a.", "b."])
    random = Random(f"{person} {question}")
    better = random.choices([usual, "a.", "b.", None], weights=[6, 1, 1, 2])[0]
    return better, random.randrange(2), random.random() < 0.2


def label(client, study, person, mirrored):
    """Answer the item at hand by what its page shows; it is shown as the mirrored study did not."""
    show(client, study)
    claim = Claim.objects.get(annotator__username=person, state=ClaimState.ACTIVE)
    if mirrored is not None:
        seen = Claim.objects.get(
            annotator=claim.annotator,
            item__study=mirrored,
            item__comparison__key=claim.item.comparison.key,
        )
        claim.shown_order = Order(seen.shown_order).other()
        claim.save()
    task = show(client, study).context["task"]
    better, clearly, both_bad = opinion(person, task.question)
    answer = "TIE"
    if better is not None:
        answer = (FIRST if task.first.text.endswith(better) else SECOND)[1 - clearly]
    data = answered(answer, both_bad="on" if both_bad else "")
    place = reverse("annotation:answer", args=[study.slug, task.place.item])
    assert client.post(place, data).status_code == 302


def labelled(slug, people, mirrored=None):
    study = make_pairs(slug, list(people.values()))
    for person, user in people.items():
        client = Client()
        client.force_login(user)
        for _ in range(PAIRS):
            label(client, study, person, mirrored)
    return study


def download(client, path, **asked):
    response = client.get(path, asked)
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(response.getvalue().decode())))


def winners(rows):
    """What each person said of each pair, in the exported texts themselves."""
    texts = {"A": "text_a", "B": "text_b"}
    return {
        (row["annotator"], row["comparison"]): (
            row[texts[row["verdict"]]] if row["verdict"] in texts else "TIE",
            row["strength"],
            row["both_bad"],
        )
        for row in rows
    }


@pytest.fixture
def reader(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def test_the_same_answers_in_opposite_orders_give_the_same_findings(reader):
    people = {name: make_user(username=name) for name in PEOPLE}
    labelled("flipped", people, labelled("plain", people))

    plain, flipped = (
        download(reader, f"/datasets/{slug}/export/labels.csv") for slug in ("plain", "flipped")
    )
    assert len(plain) == len(flipped) == PAIRS * len(PEOPLE)
    assert winners(plain) == winners(flipped)
    meant = {
        (person, str(number)): opinion(person, f"Question {number}?")[0]
        for person in PEOPLE
        for number in range(PAIRS)
    }
    said = {key: text.rpartition(" ")[2] for key, (text, _, _) in winners(plain).items()}
    assert said == {key: better or "TIE" for key, better in meant.items()}
    orders = [
        {(row["annotator"], row["comparison"]): row["shown_order"] for row in rows}
        for rows in (plain, flipped)
    ]
    assert {key: Order(order).other().value for key, order in orders[0].items()} == orders[1]

    for path in ("/agreement/agreement.csv", "/leaderboard/leaderboard.csv"):
        found = [download(reader, path, dataset=slug) for slug in ("plain", "flipped")]
        for row in [*found[0], *found[1]]:
            row.pop("dataset", None)
        assert len(found[0]) > 2
        assert found[0] == found[1]
