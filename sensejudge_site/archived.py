"""Deleted datasets: whoever asks for one, or for what hangs on it, is told so in one sentence.

Addresses that name a row are listed once, `ADDRESSES`, with the way from the row to its dataset;
so are the parameters that do, `PARAMETERS`. A test holds that no address is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

from django.db.models import Model
from django.http import HttpRequest, HttpResponse, JsonResponse

from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    User,
)
from benchmark.models import Snapshot, VerificationReport
from judging.models import (
    InjectionCheck,
    JudgeRun,
    Judgment,
    Preference,
    PreferenceSet,
    SatisfactionJudgment,
    UserMemory,
)
from sensejudge_site import api_errors
from sensejudge_site.refusals import RefusalPages


class Named(NamedTuple):
    """Rows that are named by a column, and the way from one to its dataset ("": it is one)."""

    model: type[Model]
    dataset: str = "dataset"
    column: str = "pk"

    def is_archived(self, names: Iterable[str]) -> bool:
        """Whether one of the rows of these names is of a deleted dataset. One query at most."""
        values: list[object] = list(names)
        if self.column == "pk":
            values = [number for name in names if (number := number_in(name)) is not None]
        if not values:
            return False
        manager = Dataset.with_staged if self.model is Dataset else self.model._default_manager  # noqa: SLF001
        archived = f"{self.dataset}__archived_at".removeprefix("__")
        return manager.filter(
            **{f"{self.column}__in": values, f"{archived}__isnull": False}
        ).exists()


_DATASET: Final = Named(Dataset, "", "slug")
_STUDY: Final = Named(Study, column="slug")
_SESSION: Final = Named(Session)
_COMPARISON: Final = Named(Comparison, "turn__session__dataset")
_RESPONSE: Final = Named(Response, "turn__session__dataset")
_RUN: Final = Named(JudgeRun)

ADDRESSES: Final[Sequence[tuple[re.Pattern[str], Named]]] = [
    (re.compile(rf"/(?:api/v1/)?{before}/([-\w]+)(?:/|\.csv)"), named)
    for before, named in (
        ("datasets", _DATASET),
        ("studies", _STUDY),
        ("sessions", _SESSION),
        ("comparisons", _COMPARISON),
        ("labels", Named(PairwiseLabel, "comparison__turn__session__dataset")),
        ("satisfaction-labels", Named(SatisfactionLabel, "response__turn__session__dataset")),
        ("satisfaction-labels", Named(SatisfactionLabel, "session__dataset")),
        ("(?:gold|adjudication)/comparison", _COMPARISON),
        ("(?:gold|adjudication)/response", _RESPONSE),
        ("adjudication/session", _SESSION),
        ("(?:benchmarks/)?runs", _RUN),
        ("(?:leaderboard/)?replays", _RUN),
        ("snapshots/keep/replay", _RUN),
        ("trust/calibration", _RUN),
        ("trust/satisfaction/models", _RUN),
        ("trust/disagreements", _COMPARISON),
        ("trust/injections", Named(InjectionCheck, "run__dataset")),
        ("judgments", Named(Judgment, "run__dataset")),
        ("satisfaction-judgments", Named(SatisfactionJudgment, "run__dataset")),
        ("preferences", Named(Preference, "run__dataset")),
        ("preference-sets", Named(PreferenceSet)),
        ("memories", Named(UserMemory, "run__dataset")),
    )
] + [(re.compile(r"/snapshots/([0-9]+)/compare/"), Named(Snapshot))]
"""What stands before the name in an address. Kept snapshots and frozen benchmarks stay readable,
but not the comparison of a snapshot with the figures of today."""

PARAMETERS: Final[Mapping[str, Named]] = {
    **dict.fromkeys(("dataset", "train", "test"), _DATASET),
    "study": _STUDY,
    "run": _RUN,
    "report": Named(VerificationReport),
}
"""What a reader may ask by."""

_IMPORT: Final = "/datasets/import/"
"""Where a name is chosen: one that is taken is an error of the form."""


def is_any_archived(request: HttpRequest) -> bool:
    """Whether any dataset was deleted at all; who is signed in was read together with it."""
    known: bool | None = getattr(request.user, "is_any_archived", None)
    if known is not None:
        return known
    return Dataset.with_staged.filter(archived_at__isnull=False).exists()


def check_address(request: HttpRequest) -> None:
    """Refuse an address, with its parameters, that leads to what is of a deleted dataset.

    Raises:
        Refused: it does.
    """
    if not is_any_archived(request):
        return
    if any(named.is_archived(names) for named, names in _asked_for(request) if any(names)):
        raise Refused("dataset:archived")


def _asked_for(request: HttpRequest) -> Iterator[tuple[Named, Sequence[str]]]:
    for pattern, named in ADDRESSES:
        if found := pattern.match(request.path_info):
            yield named, [found[1]]
    if request.path_info != _IMPORT:
        for name, named in PARAMETERS.items():
            yield named, [*request.GET.getlist(name), *request.POST.getlist(name)]


_API: Final = "/api/v1/"
_FOUND_OUT: Final = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND})
"""What the API answers to those who may ask."""


class DeletedDatasets(RefusalPages):
    """Middleware: refuses every address that leads to what is of a deleted dataset."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; what the API found of a deleted dataset is refused.

        Scripts sign in after the middleware: by then they have.
        """
        response = self.get_response(request)
        if request.path_info.startswith(_API) and response.status_code in _FOUND_OUT:
            try:
                check_address(request)
            except Refused as refused:
                return JsonResponse(api_errors.refusal(refused), status=refused.status)
        return response

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """The page of a refusal where the address leads to what is of a deleted dataset."""
        if request.path_info.startswith(_API) or not isinstance(request.user, User):
            return None
        try:
            check_address(request)
        except Refused as refused:
            return self.process_exception(request, refused)
        return None
