"""The demo study in the database: its data, the sign-ins, two studies to label by hand."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from annotation.core.choices import StudyKind
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPlan
from annotation.models import Dataset, Study, StudyStatus, User
from annotation.services.imports import import_records
from annotation.services.studies import create_study, set_status
from sensejudge_site.demo.accounts import ANNOTATOR, MANAGER, make_logins
from sensejudge_site.demo.generate import SLUG, write

STUDIES: Final = (
    StudyPlan(
        name="Demo: which answer is better?",
        kind=StudyKind.PAIRWISE,
        dataset=SLUG,
        scenarios=(),
        annotators=(ANNOTATOR.username,),
        overlap=1,
        allow_tie=True,
        allow_strength=False,
        ask_hallucination=False,
        guidelines=(
            "Read the conversation, then both answers. Choose the one that **you** would rather "
            "have got. Mostly there is no right answer: the point is to learn your taste. But an "
            "answer that breaks off, invents facts or does not do what was asked is the worse one. "
            "Take a tie only where you really have no preference."
        ),
        gold_rate=0.05,
        repeat_rate=0.05,
        pause_gold_below=0.5,
        pause_after=6,
    ),
    StudyPlan(
        name="Demo: how satisfying is each turn?",
        kind=StudyKind.SATISFACTION,
        dataset=SLUG,
        scenarios=(),
        annotators=(ANNOTATOR.username,),
        overlap=1,
        allow_tie=False,
        allow_strength=False,
        ask_hallucination=True,
        guidelines=(
            "Rate every answer of the assistant from 1 to 5 as if the question had been yours: 4 "
            "and 5 are satisfied. At 3 and below, say why."
        ),
    ),
)
"""Both over the whole dataset, for one annotator; none of the simulated ones is in them.

The first has gold items, pairs of which one response has a plain flaw, and hidden repeats."""


def load(*, now: datetime) -> Dataset:
    """Import the study, make the sign-ins, open the studies; what is there already stays.

    Raises:
        Refused: the site serves more than its own machine; a stored demo study contradicts this
            one.
    """
    make_logins()
    manager = User.objects.get(username=MANAGER.username)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "demo.jsonl"
        write(path)
        report = import_records(path=path, dataset_slug=SLUG, now=now, actor=manager)
    if report.fault_count:
        first = report.faults[0]
        raise Refused(
            "demo:older",
            f"dataset {SLUG!r} holds another version of the demo study ({first.field}: "
            f"{first.reason}). Delete it, or use another database",
        )
    dataset = Dataset.objects.get(slug=SLUG)
    for plan in STUDIES:
        if not Study.objects.filter(dataset=dataset, name=plan.name).exists():
            slug = create_study(plan, by=manager)
            set_status(study=slug, status=StudyStatus.OPEN, by=manager)
    return dataset
