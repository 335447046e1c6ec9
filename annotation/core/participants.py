"""Who takes part: names within a dataset and look-alikes, invitations, the steps before labelling.

Imported raters and studies carry the dataset's name before their own.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop

_SLUG_CHARS = 80


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key that puts User_2 before User_10."""
    return tuple(
        (0, int(piece), "") if re.fullmatch("[0-9]+", piece) else (1, 0, piece)
        for piece in re.split("([0-9]+)", name)
    )


def rater_username(dataset: str, name: str) -> str:
    """The user name of an imported rater."""
    return f"{dataset}:{name}"


def composed(name: str) -> str:
    """A name without blanks at its ends, its letters in the composed form of Unicode (NFC)."""
    return (name if name.isascii() else unicodedata.normalize("NFC", name)).strip()


@lru_cache(maxsize=10_000)
def rater_name(name: str) -> str:
    """The name of a rater as it is stored: composed, each run of blanks as one space."""
    plain = name if name.isascii() else name.translate(_EMOJI_STYLES)
    return " ".join(composed(plain).split())


def folded(name: str) -> str:
    """What the spellings of one name share that differ in their Unicode form only (NFKC)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


@lru_cache(maxsize=10_000)
def has_unseen(name: str) -> bool:
    """Whether a name has characters that show as nothing, or no others."""
    hidden = (char for char in name if _is_unseen(char) and char not in _JOINERS)
    return any(hidden) or (bool(name) and not any(_visible(name)))


def imported_study_slug(dataset: str, name: str) -> str:
    """The short name of a study that a file names: unique on this site, at most 80 characters."""
    slug = f"{dataset}--{name}"
    if len(slug) <= _SLUG_CHARS:
        return slug
    digest = hashlib.sha256(slug.encode()).hexdigest()[:16]
    return f"{slug[: _SLUG_CHARS - 17]}-{digest}"


def study_name(dataset: str, slug: str, name: str) -> str:
    """The name that a file gives a study: an imported one goes by its own name again."""
    return name if slug == imported_study_slug(dataset, name) else slug


_ANY_SCRIPT: Final = frozenset({"COMMON", "INHERITED", "Unknown"})
_TOGETHER: Final = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
"""Scripts that are ordinarily written together ("highly restrictive" in the standard)."""

_EMOJI_STYLES: Final = {0xFE0E: None, 0xFE0F: None}  # plain or coloured
_JOINERS: Final = "\u200c\u200d"  # within Persian and Indian words, and emoji
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159"
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
"""Letters, marks and symbols by their category, which show as nothing.

With what is of no category (`_is_unseen`) they hold all that the standard lets be ignored.
"""


class NameFault(StrEnum):
    """Why a name deceives the eye by itself."""

    MIXED_SCRIPTS = "name:mixed-scripts"
    UNSEEN = "name:unseen"
    ODD_SPACE = "name:odd-space"


def name_fault(name: str) -> NameFault | None:
    """What is wrong with a name, whoever else there is; the empty name is in order."""
    from confusable_homoglyphs.categories import unique_aliases  # it reads its data at import

    if has_unseen(name):
        return NameFault.UNSEEN
    if any(char.isspace() and char != " " for char in name):
        return NameFault.ODD_SPACE
    scripts = unique_aliases(name) - _ANY_SCRIPT
    if len(scripts) > 1 and not any(scripts <= each for each in _TOGETHER):
        return NameFault.MIXED_SCRIPTS
    return None


def looks(name: str) -> frozenset[str]:
    """Digests of what a name looks like: two names that share one look alike.

    There are two, for letters that look alike in one case only: `Ian` is `ian` in other letters and
    `lan` by its look, while `ian` and `lan` differ. The empty name has none.
    """
    whole = unicodedata.normalize("NFKC", name)
    drawn = {_skeleton(whole.casefold()), _skeleton(whole)} - {""}
    return frozenset(hashlib.sha256(each.encode()).hexdigest() for each in drawn)


def _skeleton(text: str) -> str:
    prototypes = _prototypes()
    drawn = "".join(prototypes.get(char, char) for char in _visible(text))
    return " ".join(unicodedata.normalize("NFKC", drawn.casefold()).split())


def _visible(text: str) -> Iterator[str]:
    return (char for char in unicodedata.normalize("NFD", text) if not _is_unseen(char))


def _is_unseen(char: str) -> bool:
    return char in _BLANK or unicodedata.category(char).startswith("C")


@cache
def _prototypes() -> Mapping[str, str]:
    """What stands for each character that looks like others.

    The library's table is a set of stars: each look-alike names its prototype, and a prototype
    names all its look-alikes. Of two that only name each other, the lesser stands for both. Some
    are wrapped in marks of direction there.
    """
    from confusable_homoglyphs.confusables import confusables_data

    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for char, alike in confusables_data.items():
        neighbours[char.strip("\u200e")] |= {each["c"].strip("\u200e") for each in alike}
    found: dict[str, str] = {}
    for char, alike in neighbours.items():
        if len(alike) > 1:
            continue  # a prototype
        (other,) = alike
        pair = len(other) == 1 and neighbours[other] == {char}
        found[char] = min(char, other) if pair else other
    return {char: "".join(found.get(each, each) for each in to) for char, to in found.items()}


NEW_ACCOUNTS: Final = 60
"""Accounts that one link without a number of places makes within `NEW_ACCOUNTS_WITHIN`.

A seminar joins within minutes, and who expects more gives the number of places. A link that got
out makes no more than these before somebody can withdraw it.
"""

NEW_ACCOUNTS_WITHIN: Final = timedelta(hours=1)


class InvitationRefusal(StrEnum):
    """Why a link lets nobody in."""

    UNKNOWN = "invitation:unknown"
    WITHDRAWN = "invitation:withdrawn"
    EXPIRED = "invitation:expired"
    CLOSED = "invitation:closed"
    FULL = "invitation:full"
    REMOVED = "invitation:removed"


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """One link as its manager sees it.

    Attributes:
        number: Names it in addresses for managers.
        note: For whom it was made.
        token: What stands in the link; a signature, so that nobody can make one up.
        places: How many people may join by it; None for any number.
        joined: How many people in the study came by it.
        expires_at: When it stops working; None for when its places are taken.
        made_by: Who made it.
        made_at: When.
        refusal: Why it lets nobody in now; None where it does.
        completion: What who is through is shown: a code, or an address; "" for neither.
    """

    number: int
    note: str
    token: str
    places: int | None
    joined: int
    expires_at: datetime | None
    made_by: str
    made_at: datetime
    refusal: InvitationRefusal | None
    completion: str


WORKER_IDS: Final = (
    "PROLIFIC_PID",
    "PROLIFIC_ID",
    "workerId",
    "worker_id",
    "participantId",
    "participant_id",
    "participant",
    "SONA_ID",
    "survey_code",
    "user_id",
    "rid",
)
"""Parameters by which platforms of paid work name a person in a link, the surest first."""

_OF_THE_TASK: Final = ("STUDY_ID", "SESSION_ID", "assignmentId", "hitId")
_KNOWN: Final = {name.casefold(): name for name in (*WORKER_IDS, *_OF_THE_TASK)}
_NOBODY: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what Mechanical Turk sends to who only looks
_VALUE: Final = re.compile(r"[\w.@+:/=~-]{1,200}")
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def worker_of(link: Mapping[str, str]) -> dict[str, str]:
    """What a link's parameters say of who follows it for a platform, under the usual names.

    Left out is what no platform sends: long or odd values, and placeholders that nobody filled in.
    """
    said = {name.casefold(): value.strip() for name, value in link.items()}
    return {
        name: said[key]
        for key, name in _KNOWN.items()
        if _VALUE.fullmatch(said.get(key, "")) and said[key] != _NOBODY
    }


def worker_id(worker: Mapping[str, str]) -> str:
    """By what the platform knows them; "" where the link did not say."""
    return next((worker[name] for name in WORKER_IDS if name in worker), "")


def unknown_placeholders(completion: str) -> list[str]:
    """The placeholders of an address that `completion_for` cannot fill in."""
    named = _PLACEHOLDER.findall(completion)
    return [name for name in named if name != "worker" and name.casefold() not in _KNOWN]


def completion_for(completion: str, worker: Mapping[str, str]) -> str:
    """A code as it is; an address with what is known of the worker in its placeholders."""
    if not completion.startswith("https://"):
        return completion

    def told(found: re.Match[str]) -> str:
        name = found[1]
        value = worker_id(worker) if name == "worker" else worker.get(_KNOWN[name.casefold()], "")
        return quote(value, safe="")

    return _PLACEHOLDER.sub(told, completion)


def refusal_of(
    *,
    revoked_at: datetime | None,
    expires_at: datetime | None,
    study_closed: bool,
    places: int | None,
    joined: int,
    now: datetime,
) -> InvitationRefusal | None:
    """Why nobody can join by this link now; None where somebody can."""
    if revoked_at is not None:
        return InvitationRefusal.WITHDRAWN
    if study_closed:
        return InvitationRefusal.CLOSED
    if expires_at is not None and expires_at <= now:
        return InvitationRefusal.EXPIRED
    if places is not None and joined >= places:
        return InvitationRefusal.FULL
    return None


class Step(LabelledEnum):
    """One page before labelling; the names are those of its address and template."""

    CONSENT = "consent", gettext_noop("Taking part")
    PROFILE = "profile", gettext_noop("About you")
    GUIDELINES = "guidelines", gettext_noop("Guidelines")
    QUIZ = "quiz", gettext_noop("Quiz")


@dataclass(frozen=True, slots=True)
class StudySteps:
    """What a study asks before it gives out items.

    Attributes:
        consent: Whether annotators agree to something first.
        profile: Whether they fill in their profile.
        guidelines: The version of the guidelines in force; None where there are none to read.
        quiz: Whether they pass a quiz.
    """

    consent: bool
    profile: bool
    guidelines: int | None
    quiz: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What an annotator did of it; `guidelines` is the version they read, None for none."""

    consent: bool
    profile: bool
    guidelines: int | None
    quiz: bool


def steps_of(asked: StudySteps) -> tuple[Step, ...]:
    """The steps that a study asks for, in their order."""
    wanted = {
        Step.CONSENT: asked.consent,
        Step.PROFILE: asked.profile,
        Step.GUIDELINES: asked.guidelines is not None,
        Step.QUIZ: asked.quiz,
    }
    return tuple(step for step in Step if wanted[step])


def finished(asked: StudySteps, done: Done) -> tuple[Step, ...]:
    """The steps that a study asks for and that need not be done (again), in their order."""
    is_done = {
        Step.CONSENT: done.consent,
        Step.PROFILE: done.profile,
        Step.GUIDELINES: done.guidelines == asked.guidelines,
        Step.QUIZ: done.quiz,
    }
    return tuple(step for step in steps_of(asked) if is_done[step])


def first_open(asked: StudySteps, done: Done) -> Step | None:
    """The step that comes next; None where nothing is left to do before labelling."""
    over = finished(asked, done)
    return next((step for step in steps_of(asked) if step not in over), None)
