"""Preference pairs for training: which verdicts, how many rows, and the file."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from annotation.core.refusals import Refused
from annotation.exports.folder import has_parquet
from annotation.models import Dataset
from annotation.queries.datasets import dataset_of
from annotation.views.access import SignedInRequest, reader_required, whole_export
from benchmark.exports.pairs import count_pairs, preference_pairs
from benchmark.forms.pairs import PairsFileForm


def _form(request: SignedInRequest, dataset: Dataset) -> PairsFileForm:
    """Raises Refused if the address names verdicts that the dataset does not have."""
    usual = {"verdicts": "majority", "layout": "all"}
    form = PairsFileForm({**usual, **request.GET.dict()}, dataset=dataset)
    if not form.is_valid():
        raise Refused("benchmark:unknown-choice")
    return form


@require_safe
@reader_required
def pairs_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """Shows how many rows a choice of verdicts gives, and its downloads."""
    dataset = dataset_of(slug)
    form = _form(request, dataset)
    context = {
        "dataset": dataset,
        "form": form,
        "counts": count_pairs(dataset, form.choice()),
        "query": urlencode({name: form.cleaned_data[name] for name in ("verdicts", "layout")}),
        "formats": ("jsonl", "csv", "excel", "zip", *(("parquet",) if has_parquet() else ())),
    }
    return render(request, "benchmark/preference_pairs.html", context)


@require_safe
@reader_required
def pairs_file(request: SignedInRequest, slug: str, format_name: str) -> HttpResponseBase:
    """Downloads the pairs of the chosen verdicts."""
    dataset = dataset_of(slug)
    choice = _form(request, dataset).choice()
    return whole_export(preference_pairs(choice), dataset, format_name)
