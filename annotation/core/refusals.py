"""What the software refuses to do: one exception, a stable code for each reason, a text for people.

Every app registers its codes once, with an English sentence marked for the translators and the
status that HTTP answers with; sentences are translated at the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

_TEXTS: Final[dict[str, str]] = {}
_STATUSES: Final[dict[str, HTTPStatus]] = {}


def gettext_noop(text: str) -> str:
    """The text itself, marked as one that a person sees."""
    return text


def register(texts: Mapping[str, str], *, statuses: Mapping[str, HTTPStatus] | None = None) -> None:
    """Add an app's codes with their sentences; a code without a status answers 409.

    Raises:
        ValueError: a code has a text already, or a status and no text.
    """
    doubled = set(texts) & set(_TEXTS)
    lost = set(statuses or {}) - set(texts)
    if doubled or lost:
        message = f"codes registered twice or without a text: {sorted(doubled | lost)}"
        raise ValueError(message)
    _TEXTS.update(texts)
    _STATUSES.update(statuses or {})


def text_of(code: str) -> str:
    """The sentence for a code, untranslated; the code itself where it has none."""
    return _TEXTS.get(code, code)


def status_of(code: str) -> HTTPStatus:
    """What HTTP answers to a refusal with this code."""
    return _STATUSES.get(code, HTTPStatus.CONFLICT)


class Refused(Exception):  # noqa: N818 - a refusal is no error of the program
    """What was asked for cannot be done, for a reason that was foreseen.

    Args:
        code: the stable name of the reason.
        detail: what a log or a command adds to the sentence of the code, or says in its place.
        faults: all that is wrong, where there is more than one thing to say.
        values: what the sentence names.
    """

    def __init__(
        self, code: str, detail: str = "", *, faults: Sequence[Any] = (), **values: Any
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.faults = tuple(faults)
        self.values = values

    def __str__(self) -> str:
        """The detail, or the faults, or else the sentence of the code."""
        return self.detail or "; ".join(map(str, self.faults)) or self.text

    @property
    def text(self) -> str:
        """The sentence of the code, untranslated, without its values."""
        return text_of(self.code)

    def sentence(self, translate: Callable[[str], str]) -> str:
        """The sentence of the code with its values, all in the words of `translate`."""
        told = {
            name: translate(value) if value and isinstance(value, str) else value
            for name, value in self.values.items()
        }
        return translate(self.text) % told if told else translate(self.text)

    @property
    def status(self) -> HTTPStatus:
        """What HTTP answers."""
        return status_of(self.code)


_UNKNOWN_CHOICE: Final = gettext_noop("The choice was not found.")
_OUTDATED: Final = gettext_noop(
    "This was changed after you opened the page, so nothing was saved. The page now shows the "
    "current version."
)

REFUSAL_TEXTS: Final = {
    "account:name-taken": gettext_noop(
        "This name is taken, or looks like one that is. Choose another."
    ),
    "adjudication:changes-gold": gettext_noop(
        "This decision would change a gold answer that the dataset came with. Confirm the change."
    ),
    "adjudication:decided-meanwhile": gettext_noop(
        "Someone else has decided this item in the meantime. Review their decision first."
    ),
    "adjudication:refused": gettext_noop("This item cannot be decided this way."),
    "adjudication:unknown-queue": _UNKNOWN_CHOICE,
    "agreement:unknown-choice": _UNKNOWN_CHOICE,
    "annotator:unknown": gettext_noop("The annotator was not found."),
    "consent:outdated": _OUTDATED,
    "study:outdated": _OUTDATED,
    "export:unlike": gettext_noop(
        "These rows have no common columns. Download them as JSONL or CSV."
    ),
    "export:empty": gettext_noop("The dataset has no rows of this kind, so there is no file."),
    "export:no-labels": gettext_noop(
        "Nobody has labelled a comparison of this dataset, so there is no file."
    ),
    "export:no-ratings": gettext_noop(
        "Nobody has rated a reply or session of this dataset, so there is no file."
    ),
    "export:no-marked": gettext_noop(
        "No rating of this dataset says good or bad of a reply with a text and a request, so there "
        "is no file."
    ),
    "export:threshold": gettext_noop("The lowest good rating is a whole number from 2 to 5."),
    "export:no-parquet": gettext_noop(
        "Parquet needs the package pyarrow, which is not installed on this server. Choose another "
        "format, or ask its administrator."
    ),
    "dataset:archived": gettext_noop(
        "This dataset was deleted, with its studies and runs. Its labels are kept: ask an "
        "administrator if you need them."
    ),
    "dataset:other-name": gettext_noop(
        "This is not the dataset's name. Nothing was deleted: type the name as it is shown."
    ),
    "dataset:runs-under-way": gettext_noop(
        "Runs of this dataset are in progress, so nothing was deleted. Stop them or wait for "
        "them to finish, then delete the dataset."
    ),
    "dataset:too-many-comparisons": gettext_noop(
        "This would create more than 20,000 comparisons at once, so none was created. Choose a "
        "sample or fewer models."
    ),
    "dataset:unknown": gettext_noop("The dataset was not found."),
    "export:unknown-table": gettext_noop(
        "There is no such table here. In the address, table= can be: %(tables)s."
    ),
    "gold:outdated": _OUTDATED,
    "gold:refused": gettext_noop("This cannot be a gold answer for this item."),
    "guidelines:outdated": gettext_noop(
        "Someone published a newer version in the meantime. Review it before you publish yours."
    ),
    "guidelines:unchanged": gettext_noop("Nothing has changed, so there is nothing to publish."),
    "import:archived": gettext_noop("A deleted dataset has this name. Choose another name."),
    "import:columns": gettext_noop("This does not say what each column contains."),
    "import:dataset": gettext_noop("This name is used by a page of the site. Choose another one."),
    "import:disk-full": gettext_noop(
        "The server's disk is full, so nothing was imported. Ask the server’s administrator to "
        "free space, then import the file again."
    ),
    "import:empty": gettext_noop(
        "This file has no rows. A table needs a header and at least one row below it."
    ),
    "import:encoding": gettext_noop(
        "This file is not in UTF-8. In your spreadsheet, save it as “CSV UTF-8” and import that."
    ),
    "import:expired": gettext_noop("This upload is no longer available. Choose the file again."),
    "import:format": gettext_noop(
        "We could not recognise this file's format. Choose it under Format; for columns of your "
        "own, choose “Table of your own (CSV or Excel)”."
    ),
    "import:line-ends": gettext_noop(
        "We could not read the line endings of this file. In your spreadsheet, save it as “CSV "
        "UTF-8” and import that."
    ),
    "import:lists": gettext_noop(
        "The rows may be in any of these lists of the file: %(lists)s. Save one of them as a file "
        "of its own, and import that."
    ),
    "import:name": gettext_noop("This name is too long for this dataset."),
    "import:nearest": gettext_noop(
        "We could not recognise this file's format. It looks like %(format)s, but its rows have "
        "no %(fields)s. Rename or add these fields, or choose another format under Format."
    ),
    "import:outrun": gettext_noop(
        "Another import changed this dataset in the meantime, so nothing was imported. "
        "Import the file again."
    ),
    "import:spreadsheet": gettext_noop(
        "This is a zip file or a spreadsheet of another kind. In your spreadsheet, save it as "
        "“Excel workbook (.xlsx)” or “CSV UTF-8” and import that."
    ),
    "import:table": gettext_noop(
        "We could not read the first rows of this table. Often a quotation mark is not closed: "
        "check them, or save the table again from your spreadsheet."
    ),
    "import:unread-columns": gettext_noop("Some columns of this table are not understood."),
    "import:values": gettext_noop("This does not say what the values of a column mean."),
    "import:unreadable": gettext_noop(
        "We could not read this file. It may be damaged or incomplete: save it again and import "
        "that."
    ),
    "invitation:closed": gettext_noop("The study of this invitation is closed."),
    "invitation:expired": gettext_noop("This invitation has expired."),
    "invitation:full": gettext_noop("All places for this invitation are taken."),
    "invitation:removed": gettext_noop("A manager removed you from this study."),
    "invitation:too-many-accounts": gettext_noop(
        "Too many accounts were created with this link in the last hour. Try again later."
    ),
    "invitation:unknown": gettext_noop(
        "This invitation link is not valid. It may be incomplete: copy the whole link."
    ),
    "invitation:withdrawn": gettext_noop("This invitation has been withdrawn."),
    "labelling:closed": gettext_noop("This study is closed, so nothing was changed."),
    "labelling:not-allowed": gettext_noop("This study does not allow that answer."),
    "labelling:not-open": gettext_noop(
        "This study is paused, so nothing was changed. You can go on once it is open again."
    ),
    "labelling:not-ready": gettext_noop(
        "Complete the step before the next item first, such as reading new guidelines. "
        "Then answer again."
    ),
    "labelling:not-yours": gettext_noop("The item was not found, or it is not yours."),
    "labelling:paused": gettext_noop(
        "You are paused in this study, so nothing was changed. Contact a study manager to resume."
    ),
    "labelling:taken": gettext_noop(
        "This item is no longer reserved for you, and others now have it."
    ),
    "onboarding:changed": gettext_noop("This page has changed. Read it again before you continue."),
    "onboarding:not-now": gettext_noop("This step is not available now."),
    "pairing:nothing": gettext_noop(
        "There is nothing to compare: no two models gave different responses to the same request."
    ),
    "pairing:nothing-left": gettext_noop(
        "Every possible comparison has a verdict or is planned already."
    ),
    "pairing:other-study": gettext_noop(
        "The study of this name does not hold all of these comparisons. Choose another name."
    ),
    "pairing:plan": gettext_noop("This is not a plan of comparisons."),
    "pairing:too-many-possible": gettext_noop(
        "More than 2,000,000 comparisons are possible, too many to plan at once. Choose scenarios "
        "or models."
    ),
    "pairing:unknown-anchor": gettext_noop(
        "The anchor model has no response that can be compared."
    ),
    "participation:not-paused": gettext_noop("This annotator is not paused."),
    "participation:paused": gettext_noop("This annotator is already paused."),
    "quality:unknown-choice": _UNKNOWN_CHOICE,
    "quiz:outdated": gettext_noop(
        "Someone else has changed this quiz, so your version was not saved. Save again to replace "
        "theirs."
    ),
    "quiz:faulty": gettext_noop("Nothing was saved: these questions have errors."),
    "reassignment:answered": gettext_noop(
        "Nothing was changed: the item was answered in the meantime, and the answer is kept."
    ),
    "reassignment:full": gettext_noop(
        "Nothing was changed: this item already has all its annotators. Unassign one of them first."
    ),
    "reassignment:no-first": gettext_noop(
        "Nothing was changed: this is a hidden repeat, which only someone who answered "
        "the original item can get."
    ),
    "reassignment:not-found": gettext_noop("The item was not found in this study."),
    "reassignment:not-given-out": gettext_noop(
        "Nothing was changed: this study is not open. Open it first."
    ),
    "reassignment:not-in-study": gettext_noop(
        "Nothing was changed: this person is not in the study."
    ),
    "reassignment:paused": gettext_noop(
        "Nothing was changed: this annotator is paused. Resume them first."
    ),
    "reassignment:own-words": gettext_noop(
        "Nothing was changed: these conversations are the annotator’s own; nobody else can answer."
    ),
    "study:empty": gettext_noop("The selected items contain nothing to ask about in this way."),
    "study:no-draft": gettext_noop("Only a draft can be deleted. Close this study instead."),
    "study:rules": gettext_noop("Nothing was changed: these rules would affect existing answers."),
    "study:status": gettext_noop(
        "The study cannot change to this status from its current one. Nothing was changed."
    ),
}

_OTHER_STATUSES: Final = {
    **dict.fromkeys(
        [
            "adjudication:unknown-queue",
            "agreement:unknown-choice",
            "annotator:unknown",
            "dataset:unknown",
            "export:unknown-table",
            "invitation:unknown",
            "labelling:not-yours",
            "quality:unknown-choice",
            "reassignment:not-found",
        ],
        HTTPStatus.NOT_FOUND,
    ),
    **dict.fromkeys(
        ["dataset:archived", "invitation:closed", "invitation:expired", "invitation:withdrawn"],
        HTTPStatus.GONE,
    ),
    "invitation:removed": HTTPStatus.FORBIDDEN,
    "invitation:too-many-accounts": HTTPStatus.TOO_MANY_REQUESTS,
    **dict.fromkeys(
        ["dataset:other-name", "export:threshold", "labelling:not-allowed"],
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
}

register(REFUSAL_TEXTS, statuses=_OTHER_STATUSES)
