"""The addresses of the labelling pages and what their forms send."""

from __future__ import annotations

from uuid import uuid4

from django.urls import reverse


def url(name, study, item=None):
    item = item or study.items.order_by("position").first()
    return reverse(f"annotation:{name}", args=[study.slug, item.pk])


def next_url(study):
    return reverse("annotation:next", args=[study.slug])


def show(client, study):
    return client.get(next_url(study))


def answered(value="FIRST", **more):
    return {"answer": value, "submission": uuid4(), **more}


def skipped(reason="OTHER", **more):
    return {"reason": reason, "submission": uuid4(), **more}


def rated(*turns):
    data = {"submission": uuid4()}
    for number, (score, reason) in enumerate(turns, start=1):
        data[f"turn-{number}-score"] = score
        data[f"turn-{number}-reason"] = reason
    return data
