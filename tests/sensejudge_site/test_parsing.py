"""Arguments that are wrong end with 2 and one line on standard error, whatever the command."""

from __future__ import annotations

import pytest
from django.core.management import call_command, load_command_class
from django.core.management.base import CommandError

from tests.paths import ROOT

NAMES = sorted(
    path.stem
    for path in (ROOT / "sensejudge_site/management/commands").glob("*.py")
    if path.stem != "__init__"
)


def refused(capsys, name, *words):
    """The status and the lines of a command line that is wrong."""
    with pytest.raises(SystemExit) as ended:
        load_command_class("sensejudge_site", name).run_from_argv(["manage.py", name, *words])
    told = capsys.readouterr()
    assert told.out == ""
    return ended.value.code, told.err.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_is_unknown_or_a_word_that_is_missing(capsys, name):
    code, lines = refused(capsys, name, "--no-such-option")
    assert code == 2
    assert len(lines) == 1
    assert lines[0].startswith(f"manage.py {name}: ")
    assert lines[0].endswith(f"(see manage.py {name} --help)")


def test_it_says_which_word_is_wrong(capsys):
    code, (line,) = refused(capsys, "ablate", "--vary", "everything")
    assert code == 2
    assert "invalid choice: 'everything'" in line
    assert "'window'" in line
    code, (line,) = refused(capsys, "distil", "--dataset", "x", "--budget", "much")
    assert "expected an amount of money of 0 or more, not 'much'" in line


def test_code_that_calls_a_command_meets_an_error_with_the_same_status():
    with pytest.raises(CommandError) as wrong:
        call_command("ablate", "--vary", "everything")
    assert wrong.value.returncode == 2


def test_every_command_is_looked_at():
    assert {"ablate", "distil", "judge", "serve"} <= set(NAMES)
