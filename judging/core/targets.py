"""What a run judges or scores, and under which set a scenario is judged (protocols A1.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.numbers import number_in
from annotation.core.refusals import Refused, gettext_noop


class RunTarget(LabelledEnum):
    """Which of a dataset's comparisons, or of its responses.

    TEST are comparisons that the annotator labelled and no preference was learned from, STUDY those
    of a study or original responses of its sessions, PLAN those of a pairing plan. RATED are
    responses that the user rated, CANDIDATES those that are not the original of their turn.
    UNLABELLED are comparisons that the annotator did not label, or original responses that the user
    did not rate.
    """

    TEST = "TEST", gettext_noop("labelled comparisons that were not learned from")
    UNLABELLED = "UNLABELLED", gettext_noop("everything unlabelled")
    ALL = "ALL", gettext_noop("everything")
    STUDY = "STUDY", gettext_noop("everything in a study")
    PLAN = "PLAN", gettext_noop("comparisons that were planned together")
    RATED = "RATED", gettext_noop("what the user rated")
    CANDIDATES = "CANDIDATES", gettext_noop("other responses than the original ones")


COMPARISON_TARGETS: Final = (RunTarget.TEST, RunTarget.UNLABELLED, RunTarget.ALL)
"""What a run that judges comparisons can be about, a study and a plan aside."""
TURN_TARGETS: Final = (
    RunTarget.RATED,
    RunTarget.UNLABELLED,
    RunTarget.CANDIDATES,
    RunTarget.ALL,
)
"""What a run that scores satisfaction can be about, a study aside; by default it is RATED."""


class TurnPart(LabelledEnum):
    """What a scored response, or session, was to its user when the run began.

    RATED ones alone can count for agreement. REFERENCE are original responses that were not asked
    for, by whose raw scores the others are calibrated (protocols A2.4).
    """

    RATED = "RATED", gettext_noop("rated")
    UNLABELLED = "UNLABELLED", gettext_noop("not rated")
    CANDIDATE = "CANDIDATE", gettext_noop("another response")
    REFERENCE = "REFERENCE", gettext_noop("scored for calibration only")

    @classmethod
    def of(cls, *, rated: bool, original: bool) -> TurnPart:
        """What something is that was asked for."""
        if rated:
            return cls.RATED
        return cls.UNLABELLED if original else cls.CANDIDATE


class Basis(LabelledEnum):
    """Under what a comparison was judged in an annotator's stead; stored with each scenario.

    OWN is the scenario's set, ALL the set over all scenarios, BASE the base judge: there is no set,
    or it is no better.
    """

    OWN = "OWN", gettext_noop("the scenario's set")
    ALL = "ALL", gettext_noop("the set over all scenarios")
    BASE = "BASE", gettext_noop("the base judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What a run is to judge, in its dataset.

    Attributes:
        kind: of these.
        study: of STUDY, its short name.
        plan: of PLAN, its number.
        scenarios: only these, by name; all without.
        models: only responses by one of these, or comparisons with such a response; all without.
        languages: only conversations in these, by primary language; all without.
        sample: only so many, by the rank of their keys: the same for everybody but for the kind.
        only: only these, by id: comparisons, responses that are scored, or turns that are answered.
    """

    kind: RunTarget = RunTarget.TEST
    study: str = ""
    plan: int | None = None
    scenarios: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample: int | None = None
    only: tuple[int, ...] = ()

    @property
    def are_filtered(self) -> bool:
        """Whether a query must tell which comparisons are meant."""
        is_listed = self.kind in (RunTarget.STUDY, RunTarget.PLAN)
        return bool(is_listed or self.scenarios or self.models or self.languages)

    @property
    def are_rated(self) -> bool:
        """Whether a run that scores satisfaction is about everything rated, and nothing else."""
        return self in (Targets(), Targets(kind=RunTarget.RATED))

    def takes(self, *, rated: bool, original: bool) -> bool:
        """Whether a response of a user's sessions is of the kind that is to be scored."""
        match self.kind:
            case RunTarget.UNLABELLED:
                return original and not rated
            case RunTarget.CANDIDATES:
                return not original
            case RunTarget.STUDY:
                return original
            case RunTarget.ALL:
                return True
            case _:
                return rated


STUDY: Final = "study:"
PLAN: Final = "plan:"
DATASET: Final = "dataset:"


def targets_named(word: str) -> tuple[Targets, str]:
    """What an argument names, without any filter, and the short name of another dataset or "".

    Args:
        word: test, unlabelled, all, study:SLUG, plan:NUMBER or dataset:SLUG (everything in another
            dataset).

    Raises:
        Refused: it is none of these.
    """
    prefix, colon, name = word.partition(":")
    if name and prefix + colon == STUDY:
        return Targets(kind=RunTarget.STUDY, study=name), ""
    number = number_in(name)
    if number is not None and prefix + colon == PLAN:
        return Targets(kind=RunTarget.PLAN, plan=number), ""
    if name and prefix + colon == DATASET:
        return Targets(kind=RunTarget.ALL), name
    kinds = {kind.lower(): kind for kind in COMPARISON_TARGETS}
    if word not in kinds:
        known = ", ".join((*kinds, f"{STUDY}SLUG", f"{PLAN}NUMBER", f"{DATASET}SLUG"))
        raise Refused("run:targets", f"targets are one of {known}, not {word!r}")
    return Targets(kind=kinds[word]), ""


def turn_targets_named(word: str) -> tuple[Targets, str]:
    """What an argument names that says which turns are scored, and a dataset's short name.

    Args:
        word: rated, unlabelled, candidates, all, study:SLUG or dataset:SLUG (everything in a
            dataset, whoever held its sessions).

    Raises:
        Refused: it is none of these.
    """
    prefix, colon, slug = word.partition(":")
    if slug and prefix + colon == STUDY:
        return Targets(kind=RunTarget.STUDY, study=slug), ""
    if slug and prefix + colon == DATASET:
        return Targets(kind=RunTarget.ALL), slug
    kinds = {kind.lower(): kind for kind in TURN_TARGETS}
    if word not in kinds:
        known = ", ".join((*kinds, f"{STUDY}SLUG", f"{DATASET}SLUG"))
        raise Refused("run:targets", f"targets are one of {known}, not {word!r}")
    return Targets(kind=kinds[word]), ""
