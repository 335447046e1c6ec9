"""What costs no call and every judge has to beat: the longer response, and the other annotators."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.core.choices import Verdict


def longer_wins(text_a: str, text_b: str) -> Verdict:
    """The response with more characters, white space at its ends aside; a tie at equal length."""
    lead = len(text_a.strip()) - len(text_b.strip())
    if lead == 0:
        return Verdict.TIE
    return Verdict.A if lead > 0 else Verdict.B


def majority(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Which response more people chose; a tie where as many chose each, None where nobody said."""
    given = list(verdicts)
    if not given:
        return None
    lead = given.count(Verdict.A) - given.count(Verdict.B)
    if lead == 0:
        return Verdict.TIE
    return Verdict.A if lead > 0 else Verdict.B
