"""`python -m tests.attacks [NAME ...]`: what came of each attack, and 1 where one got through."""

from __future__ import annotations

import json
import pkgutil
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import psycopg

from sensejudge_site.benches.annotate.site import Site, scratch_site
from tests import attacks
from tests.paths import ROOT

POSTGRES = "postgres://postgres@127.0.0.1:5432"
SETTINGS = ("sqlite", "postgres")


@contextmanager
def site_of(setting: str, checkout: Path) -> Iterator[Site]:
    """A migrated, empty site; its database is gone after the block."""
    with (
        scratch_database(setting) as database,
        scratch_site(database=database, root=checkout) as site,
    ):
        site.manage("migrate", "--verbosity=0")
        site.manage("collectstatic", "--noinput", "--verbosity=0")
        yield site


@contextmanager
def scratch_database(setting: str) -> Iterator[str]:
    """The address of an empty PostgreSQL database, dropped after the block; "" for SQLite."""
    if setting == "sqlite":
        yield ""
        return
    name = f"attacked_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRES}/{name}"
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def has_postgresql() -> bool:
    """Whether the database server of the second setting is there."""
    try:
        psycopg.connect(f"{POSTGRES}/postgres", connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def tell(line: Mapping[str, object]) -> None:
    """Print a JSON line at once."""
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run the chosen attacks on the chosen settings, print a JSON line for each."""
    names = sorted(
        module.name for module in pkgutil.iter_modules(attacks.__path__) if module.name[0] != "_"
    )
    parser = ArgumentParser(prog="attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(names)}")
    parser.add_argument("--setting", choices=SETTINGS, action="append")
    parser.add_argument("--checkout", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"no attack {', '.join(sorted(unknown))}")
    held = True
    for name in options.names or names:
        module = import_module(f"{attacks.__name__}.{name}")
        for setting in options.setting or SETTINGS:
            if setting == "postgres" and not has_postgresql():
                left_out = "no PostgreSQL on 127.0.0.1:5432"
                tell({"attack": name, "setting": setting, "left_out": left_out})
                continue
            with site_of(setting, options.checkout.resolve()) as site:
                outcome = module.attack(site)
            held = held and outcome.held
            tell({"attack": name, "setting": setting, "held": outcome.held, **outcome.figures})
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
