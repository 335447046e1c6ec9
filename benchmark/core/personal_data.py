"""Personal data in a text: e-mail addresses, phone, identity and card numbers, Chinese and English.

Numbers that carry a checksum must pass it: cards Luhn (ISO/IEC 7812), Chinese resident identity
numbers MOD 11-2 with a date of birth that exists (GB 11643). US social security numbers carry none,
but whole ranges that were never given out. A number within a longer one is none; addresses in
domains that are reserved for examples (RFC 2606) belong to nobody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final, NamedTuple

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop


class PersonalDataKind(LabelledEnum):
    """What was found."""

    EMAIL = "EMAIL", gettext_noop("E-mail address")
    PHONE = "PHONE", gettext_noop("Phone number")
    IDENTITY = "IDENTITY", gettext_noop("Identity number")
    CARD = "CARD", gettext_noop("Card number")


class PersonalDatum(NamedTuple):
    """One hit; `masked` shows its first and last characters alone."""

    kind: PersonalDataKind
    masked: str


_EXAMPLES: Final = re.compile(
    r"(?:^|[@.])(?:example\.(?:com|org|net)|(?:test|example|invalid|localhost))$", re.ASCII
)
_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECKS: Final = "10X98765432"
_FEWEST_CARD_DIGITS: Final = 13
_EARLIEST: Final = date(1900, 1, 1)
_LATEST: Final = date(2100, 1, 1)


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit of those before it."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def passes_mod_11_2(number: str) -> bool:
    """Whether the 18th character of a Chinese resident identity number checks the 17 before it."""
    total = sum(int(digit) * weight for digit, weight in zip(number, _WEIGHTS, strict=False))
    return number[17].upper() == _CHECKS[total % 11]


def _is_email(found: str) -> bool:
    return not _EXAMPLES.search(found.lower())


def _is_resident(found: str) -> bool:
    try:
        born = date(int(found[6:10]), int(found[10:12]), int(found[12:14]))
    except ValueError:
        return False
    return _EARLIEST <= born < _LATEST and passes_mod_11_2(found)


def _is_social(found: str) -> bool:
    area, group, serial = found.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_card(found: str) -> bool:
    digits = re.sub(r"[ -]", "", found)
    known = digits[0] in "3456" and (digits[0] != "3" or digits[1] in "045678")
    one = len(digits) >= _FEWEST_CARD_DIGITS and len(set(digits)) > 1
    return one and known and passes_luhn(digits)


def _is_american(found: str) -> bool:
    # NANP: neither area nor exchange begins with 0 or 1; 555-01XX is kept for stories.
    digits = re.sub(r"\D", "", found)[-10:]
    is_nobodys = digits[:3] in _FREE_OF_CHARGE or digits[3:8] == "55501"
    return digits[0] in "23456789" and digits[3] in "23456789" and not is_nobodys


def _is_foreign(found: str) -> bool:
    # Round numbers are scores and sums; +86 400 and 800 are companies'.
    return not found.endswith("000000") and not re.match(r"\+86[ -]?[48]00", found)


def _always(_found: str) -> bool:
    return True


_FREE_OF_CHARGE: Final = ("400", "800", "833", "844", "855", "866", "877", "888")
"""Companies have these: 400 in China, the others in North America."""
_BEFORE: Final = r"(?<![A-Za-z0-9])(?<![0-9][._-])"
_AFTER: Final = r"(?![A-Za-z0-9])(?![._-][0-9])"
_RULES: Final[tuple[tuple[PersonalDataKind, re.Pattern[str], Callable[[str], bool]], ...]] = (
    (
        PersonalDataKind.EMAIL,
        re.compile(
            r"(?<![A-Za-z0-9._%+/=-])[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_])?"
            r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,12}"
            r"(?![A-Za-z0-9(])(?!:[\w/~])",  # git@host.org:path is an address of no person
        ),
        _is_email,
    ),
    (
        PersonalDataKind.IDENTITY,
        re.compile(rf"{_BEFORE}[1-9][0-9]{{16}}[0-9Xx]{_AFTER}"),
        _is_resident,
    ),
    (
        PersonalDataKind.IDENTITY,
        re.compile(rf"{_BEFORE}[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}{_AFTER}"),
        _is_social,
    ),
    (
        PersonalDataKind.CARD,
        re.compile(rf"{_BEFORE}(?:[0-9]{{13,19}}|[0-9]{{4}}(?:[ -][0-9]{{2,7}}){{2,4}}){_AFTER}"),
        _is_card,
    ),
    (
        PersonalDataKind.PHONE,  # Chinese mobile
        re.compile(
            rf"(?:{_BEFORE}|(?<=[Tt][Ee][Ll])|(?<=[Pp]hone)|(?<=[Mm]obile))(?:(?:\+|00)?86[ -]?)?"
            rf"1[3-9][0-9](?:[0-9]{{8}}|([ -])[0-9]{{4}}\1[0-9]{{4}}){_AFTER}"
        ),
        _always,
    ),
    (
        PersonalDataKind.PHONE,  # Chinese landline: an area code begins with 010, 02 or 03-09
        re.compile(
            rf"{_BEFORE}(?:\(0(?:10|2[0-9]|[3-9][0-9]{{2}})\) ?|0(?:10|2[0-9]|[3-9][0-9]{{2}})[ -])"
            rf"[2-8][0-9]{{6,7}}{_AFTER}"
        ),
        _always,
    ),
    (
        PersonalDataKind.PHONE,  # North American, its parts apart or with its code
        re.compile(
            rf"{_BEFORE}(?:(?:\+?1(?:[ .-]|(?=\()))?(?:\([0-9]{{3}}\) ?|[0-9]{{3}}[.-])"
            rf"[0-9]{{3}}[ .-]|\+1[ .-]?[0-9]{{3}}[ .-]?[0-9]{{3}}[ .-]?)[0-9]{{4}}{_AFTER}"
        ),
        _is_american,
    ),
    (
        PersonalDataKind.PHONE,  # any other country's, with its code; behind a number + is a sum
        re.compile(
            r"(?<![A-Za-z0-9+])(?<![0-9)=] )\+[2-9][0-9]{0,2}[ -]?(?:[0-9][ -]?){6,11}[0-9]"
            r"(?![A-Za-z0-9])"
        ),
        _is_foreign,
    ),
)


def personal_data(text: str) -> tuple[PersonalDatum, ...]:
    """What a text holds, in the order of the kinds; full-width characters count as narrow ones.

    A stretch of text is found once, as the first kind that it is.
    """
    plain = unicodedata.normalize("NFKC", text)
    return tuple(PersonalDatum(kind, mask(plain[start:end])) for kind, start, end in _found(plain))


def without_personal_data(text: str) -> str:
    """The text with every hit masked by dots, narrow then; as it is where there is none."""
    plain = unicodedata.normalize("NFKC", text)
    parts, at = [], 0
    for start, end in sorted((start, end) for _kind, start, end in _found(plain)):
        # Asterisks would be Markdown.
        parts += [plain[at:start], mask(plain[start:end]).replace("*", "•")]
        at = end
    return "".join([*parts, plain[at:]]) if at else text


def _found(plain: str) -> Iterator[tuple[PersonalDataKind, int, int]]:
    taken = bytearray(len(plain))
    for kind, pattern, holds in _RULES:
        for match in pattern.finditer(plain):
            start, end = match.span()
            if not any(taken[start:end]) and holds(match.group()):
                taken[start:end] = b"\1" * (end - start)
                yield kind, start, end


def mask(found: str) -> str:
    """The first two and the last two characters, what is between them hidden."""
    return f"{found[:2]}{'*' * max(1, len(found) - 4)}{found[-2:]}"
