"""The Simplified Chinese catalogue: complete, sound, and compiled."""

from __future__ import annotations

import ast
import gettext
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from django.utils.translation import override

from annotation.models.wording import REASONS
from tests.factory import make_user
from tests.paths import ROOT

MESSAGES = "sensejudge_site/locale/zh_Hans/LC_MESSAGES"
SOURCES = ("annotation", "benchmark", "judging", "sensejudge_site", "templates")
PLACEHOLDER = re.compile(r"%(?:\(\w+\))?(?:\.\d+)?[sdf]|%%")


@dataclass
class Entry:
    """One message of a .po file."""

    flags: str = ""
    msgctxt: str | None = None
    msgid: str = ""
    msgid_plural: str = ""
    msgstr: dict[int, str] = field(default_factory=dict)

    @property
    def key(self):
        return (self.msgctxt, self.msgid)


def read_po(path):
    """The messages of a .po file, its header (the empty msgid) first."""
    entries = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        entry = Entry()
        texts: dict[tuple[str, int], str] = {}
        at = ("", 0)
        for line in block.splitlines():
            if line.startswith("#"):
                entry.flags += line[2:] if line.startswith("#,") else ""
                continue
            keyword, index, text = re.fullmatch(r"(\w*)(?:\[(\d)\])? ?(\".*\")", line).groups()
            if keyword:
                at = (keyword, int(index or 0))
            texts[at] = texts.get(at, "") + ast.literal_eval(text)
        entry.msgctxt = texts.get(("msgctxt", 0))
        entry.msgid = texts[("msgid", 0)]
        entry.msgid_plural = texts.get(("msgid_plural", 0), "")
        entry.msgstr = {index: text for (word, index), text in texts.items() if word == "msgstr"}
        entries.append(entry)
    return entries


@pytest.fixture(scope="module")
def catalogue():
    return read_po(ROOT / MESSAGES / "django.po")


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """What `make messages` finds today, merged with the translations that there are."""
    missing = [tool for tool in ("xgettext", "msgmerge") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} here: install GNU gettext to extract messages")
    copy = tmp_path_factory.mktemp("messages")
    for name in SOURCES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    command = "manage.py makemessages --locale zh_Hans --no-location --no-obsolete"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=copy,
        env={
            **os.environ,
            "SENSEJUDGE_VAR": str(copy / "var"),
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return read_po(copy / MESSAGES / "django.po")


def test_every_text_that_the_sources_show_is_translated(extracted):
    lacking = [
        entry.key for entry in extracted if not all(entry.msgstr.values()) or "fuzzy" in entry.flags
    ]
    assert lacking == [], "run `make messages` and translate these"


def test_the_catalogue_holds_no_text_that_the_sources_lost(extracted, catalogue):
    assert {entry.key for entry in catalogue} == {entry.key for entry in extracted}


def test_placeholders_survive_translation(catalogue):
    for entry in catalogue[1:]:
        wanted = sorted(PLACEHOLDER.findall(entry.msgid_plural or entry.msgid))
        for text in entry.msgstr.values():
            assert sorted(PLACEHOLDER.findall(text)) == wanted, entry.key


def test_chinese_has_one_plural_form(catalogue):
    assert "nplurals=1; plural=0;" in catalogue[0].msgstr[0]
    assert all(list(entry.msgstr) == [0] for entry in catalogue)


def test_chinese_sentences_have_chinese_marks(catalogue):
    ascii_mark = re.compile(r"[\u4e00-\u9fff][,;:?!(]|[,;:?!)][\u4e00-\u9fff]")
    assert [e.key for e in catalogue[1:] if ascii_mark.search(e.msgstr[0])] == []


def test_the_header_names_the_language_and_nobody(catalogue):
    header = dict(line.split(": ", 1) for line in catalogue[0].msgstr[0].splitlines())
    assert header["Language"] == "zh_Hans"
    assert header["Last-Translator"] == header["Language-Team"] == ""


def test_the_compiled_catalogue_is_that_of_the_source(catalogue):
    path = ROOT / MESSAGES / "django.mo"
    with path.open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for entry in catalogue[1:]:
        if entry.msgid_plural and entry.msgctxt is None:
            told = compiled.ngettext(entry.msgid, entry.msgid_plural, 2)
        elif entry.msgctxt is not None:
            told = compiled.pgettext(entry.msgctxt, entry.msgid)
        else:
            told = compiled.gettext(entry.msgid)
        assert told == entry.msgstr[0], "run `make messages`"
    (count,) = struct.unpack("<8xI", path.read_bytes()[:12])
    assert count == len(catalogue)


def test_the_reasons_are_those_of_the_paper():
    with override("zh-hans"):
        shown = [str(label) for _word, label in REASONS[:5]]
    assert shown == ["不够细致", "不够多样", "不满足需求", "不可用", "其他"]


@pytest.mark.django_db
def test_a_chinese_browser_gets_chinese_pages(client):
    assert "登录" in client.get("/sign-in/", headers={"accept-language": "zh-CN"}).text
    client.force_login(make_user())
    page = client.get("/studies/", headers={"accept-language": "zh-CN"}).text
    assert '<html lang="zh-hans"' in page
    assert "我的研究" in page
    assert "My studies" not in page
