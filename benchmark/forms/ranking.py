"""Questions to the leaderboards, and a reference beside them."""

from __future__ import annotations

from typing import Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import JudgmentStatus
from annotation.core.pairing import CANDIDATE_CHARS
from annotation.core.refusals import Refused
from benchmark.core.rank_agreement import read_reference
from benchmark.core.ranking import RatingMethod
from benchmark.forms import DatasetForm
from benchmark.forms.fields import id_field, one_of
from benchmark.queries.grades import GradeFilter, GradesQuestion
from benchmark.queries.ranking import LeaderboardQuestion, Source
from judging.core.rules import JudgePrompt

MOST_REFERENCE_BYTES: Final = 2**20


class LeaderboardForm(DatasetForm):
    """A question to the leaderboard."""

    scenario = id_field()
    annotator = id_field()
    judge = forms.CharField(required=False, max_length=200, strip=False)
    prompt = one_of(JudgePrompt)
    language = forms.CharField(required=False, max_length=16)
    method = one_of(RatingMethod)
    style = forms.BooleanField(required=False)
    until = id_field()
    run = id_field()

    def question(self) -> LeaderboardQuestion:
        """What is asked; what was chosen for another dataset is nothing."""
        asked = self.cleaned_data
        finer = ("scenario", "annotator", "judge", "prompt", "language", "until", "run")
        return LeaderboardQuestion(
            asked["dataset"],
            method=RatingMethod(asked["method"] or RatingMethod.BRADLEY_TERRY),
            style=asked["style"],
            **({name: asked[name] for name in finer} if self.same_dataset() else {}),
        )


class SnapshotForm(forms.Form):
    """Which snapshots: of a dataset, or another one to compare with."""

    dataset = forms.CharField(required=False, max_length=200)
    other = id_field()


class PairsForm(LeaderboardForm):
    """A question about models two by two."""

    source = one_of(Source)
    anchor = forms.CharField(max_length=CANDIDATE_CHARS, strip=False, required=False)

    def source_asked(self) -> Source | None:
        """Whose verdicts; None for the usual ones."""
        return Source(self.cleaned_data["source"]) if self.cleaned_data["source"] else None

    def anchor_asked(self) -> str:
        """The model that others are held against; "" for all pairs."""
        return str(self.cleaned_data["anchor"]) if self.same_dataset() else ""


class ReferenceForm(forms.Form):
    """Scores of models from elsewhere."""

    file = forms.FileField(label=_("Reference ranking"), max_length=200)

    def scores(self) -> dict[str, float]:
        """By model.

        Raises:
            Refused: the file holds none.
        """
        file = self.cleaned_data["file"]
        if file.size > MOST_REFERENCE_BYTES:
            raise Refused("reference:invalid", "the file is larger than a megabyte")
        return read_reference(file.read().decode(errors="replace"))


class LeaderboardRowsForm(LeaderboardForm):
    """A question to the comparisons behind one model's rating."""

    model = forms.CharField(max_length=CANDIDATE_CHARS, strip=False)
    opponent = forms.CharField(max_length=CANDIDATE_CHARS, strip=False, required=False)
    source = one_of(Source)

    def source_asked(self) -> Source:
        """Whose verdicts."""
        return Source(self.cleaned_data["source"] or Source.HUMAN)


class GradesForm(DatasetForm):
    """A question to the page of grades; a run of another dataset means nothing."""

    run = id_field()

    def question(self) -> GradesQuestion:
        """What is asked."""
        run = self.cleaned_data["run"] if self.same_dataset() else None
        return GradesQuestion(self.cleaned_data["dataset"], run)


class GradeRowsForm(GradesForm):
    """A question to the responses behind a mean grade."""

    model = forms.CharField(max_length=CANDIDATE_CHARS, strip=False)
    scenario = forms.CharField(required=False, max_length=120, strip=False)
    turn = id_field()
    show = one_of(JudgmentStatus)

    def wanted(self) -> GradeFilter:
        """Which responses."""
        asked = self.cleaned_data
        show = JudgmentStatus(asked["show"]) if asked["show"] else None
        return GradeFilter(asked["model"], asked["scenario"], asked["turn"], show)
