from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.participants import NameFault, looks, name_fault


def alike(one, other):
    return bool(looks(one) & looks(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("admin", "ADMIN"),
        ("demo-manager", "demo-rnanager"),
        ("demo-manager", "dеmо-mаnаgеr"),  # Cyrillic е, о and а
        ("scope", "ѕсоре"),  # all Cyrillic
        ("user_1", "user_l"),
        ("user_1", "USER_I"),
        ("user_0", "user_O"),
        ("paypal", "paypa1"),
        ("Ian", "lan"),
        ("NEIL", "NElL"),
        ("Ａｄｍｉｎ", "admin"),
        ("𝓁in", "lin"),
        ("José", "Jose\u0301"),
        ("Straße", "STRASSE"),
        ("Lin  Wei", " lin wei "),
        ("Lin\u00a0Wei", "Lin Wei"),
        ("a\u200bdmin", "admin"),
        ("a\u00addmin", "admin"),
        ("田中ニ", "田中二"),  # the katakana ni, and two
        ("李伟", "\uf9e1伟"),  # a compatibility ideograph
        ("Δelta", "∆elta"),
    ],
)
def test_what_the_eye_cannot_tell_apart(one, other):
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user_1", "user_2"),
        ("user_1", "user_11"),
        ("ian", "lan"),
        ("Neil", "Nell"),
        ("Jose", "José"),
        ("lun", "lyv"),
        ("李伟", "李偉"),
        ("王伟", "王玮"),
        ("", "user"),
        ("", ""),
    ],
)
def test_what_it_can(one, other):
    assert not alike(one, other)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "lin",
        "Lin 林",
        "李伟",
        "王伟2",
        "User_1",
        "demo:User_1",
        "田中たなかタナカ T",
        "コーヒー",
        "々〇",
        "김철수 Kim 金",
        "ㄅㄆㄇ王 Lin",
        "Иван",
        "Γιώργος 2",
        "محمد علی",
        "می\u200cخواهم",
        "देवनागरी",
        "สมชาย",
        "Müller-Öztürk",
        "O’Neil, Dr.",
        "👩\u200d💻 dev",
    ],
)
def test_ordinary_names_of_all_languages_are_in_order(name):
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("аdmin", NameFault.MIXED_SCRIPTS),
        ("Ρeter", NameFault.MIXED_SCRIPTS),  # a Greek rho
        ("Иван Ivan", NameFault.MIXED_SCRIPTS),
        ("李伟и", NameFault.MIXED_SCRIPTS),
        ("かな한", NameFault.MIXED_SCRIPTS),
        ("Lin\u202e", NameFault.UNSEEN),
        ("a\u200bb", NameFault.UNSEEN),
        ("a\u00adb", NameFault.UNSEEN),
        ("a\x00b", NameFault.UNSEEN),
        ("\u3164", NameFault.UNSEEN),
        ("\u200d", NameFault.UNSEEN),
        ("\u2800\u2800", NameFault.UNSEEN),
        ("Lin\u00a0Wei", NameFault.ODD_SPACE),
        ("Lin\u2003Wei", NameFault.ODD_SPACE),
        ("林\u3000伟", NameFault.ODD_SPACE),
    ],
)
def test_names_that_deceive_by_themselves(name, fault):
    assert name_fault(name) is fault


IGNORABLE = (  # Default_Ignorable_Code_Point, first and last
    "00AD 00AD 034F 034F 061C 061C 115F 1160 17B4 17B5 180B 180F 200B 200F 202A 202E 2060 206F"
    " 3164 3164 FE00 FE0F FEFF FEFF FFA0 FFA0 FFF0 FFF8 1BCA0 1BCA3 1D173 1D17A E0000 E0FFF"
)
FURTHER = "1D159 1D159 2800 2800 E000 F8FF FDD0 FDEF FFFE FFFF 0378 0379 10FFFE 10FFFF"


@pytest.mark.parametrize("span", re.findall(r"\S+ \S+", f"{IGNORABLE} {FURTHER}"))
def test_what_shows_as_nothing_is_in_no_name(span):
    first, last = (int(each, 16) for each in span.split())
    for char in map(chr, range(first, last + 1)):
        assert alike("Lin Wei", f"Lin{char} Wei"), hex(ord(char))
        joins = char in "\u200c\u200d"  # within words of some scripts
        assert joins or name_fault(f"Lin{char} Wei") is NameFault.UNSEEN, hex(ord(char))


@given(st.text(max_size=40))
def test_every_text_has_looks_of_a_stored_size(name):
    found = looks(name)
    assert len(found) <= 2
    assert {len(each) for each in found} <= {64}
    assert alike(name, name) or not found
    name_fault(name)


@given(st.text(alphabet="abcimnorswIlO01-_ ", min_size=1, max_size=12))
def test_case_makes_no_difference(name):
    assert looks(name) & looks(name.upper()) or not name.strip()
    assert looks(name) & looks(name.lower()) or not name.strip()
