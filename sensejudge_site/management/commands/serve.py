"""`manage.py serve`: the web server and, where no broker is set, the worker in one process."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.utils.translation import gettext as _

from annotation.models import User
from judging.models import JudgeRun
from judging.queries.runs import left_over
from judging.services.run_control import Idle, idle_runs, runs_at_work
from sensejudge_site.demo.accounts import open_logins
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    OneLineCommand,
    number_from,
    schema_trouble,
)
from sensejudge_site.sign_in import LOOPBACK, with_addresses
from sensejudge_site.static_files import uncollected

_UNSENT: Final = 2**22
"""Bytes of a download that wait for its reader in each thread; waitress alone lets 16 MiB wait."""

_NOBODY: Final = "No accounts yet. Create the first: manage.py createsuperuser\n"


class Command(OneLineCommand):
    """Serve on one address until interrupted."""

    help = "Serve the application with waitress, with the embedded worker where no broker is set."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen, and with how many threads."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=number_from(1, 65_535), default=8000)
        parser.add_argument("--threads", type=number_from(1), default=8)
        parser.add_argument(
            "--no-resume",
            action="store_true",
            help="leave unfinished runs as they are; their pages offer to resume them",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Refuse an outdated database or stylesheet; start the worker, then the server."""
        if trouble := schema_trouble():
            raise CommandError(_(trouble))
        if uncollected():
            raise CommandError(
                _(
                    "The static files are not up to date: "
                    "run `manage.py collectstatic --noinput` first."
                )
            )
        from waitress import create_server

        from sensejudge_site.wsgi import application

        host, port = options["host"], options["port"]
        addresses: list[str] = []
        try:
            server = create_server(
                with_addresses(application, addresses),
                host=host,
                port=port,
                threads=options["threads"],
                ident="SenseJudge",
                outbuf_high_watermark=_UNSENT,
                clear_untrusted_proxy_headers=False,  # they tell that there is a proxy
            )
        except ValueError as error:  # waitress' word for a host whose address nobody knows
            raise CommandError(
                _("Unknown host: %(host)s.") % {"host": host}, returncode=INPUT_WRONG
            ) from error
        except OSError as error:
            raise CommandError(
                _("Cannot listen on %(host)s:%(port)d: %(error)s. Choose another --port.")
                % {"host": host, "port": port, "error": error.strerror}
            ) from error
        addresses += _addresses(server)
        if not LOOPBACK.issuperset(addresses) and (users := open_logins()):
            server.close()
            raise CommandError(_refusal(host, users), returncode=INPUT_WRONG)
        if settings.EMBEDDED_WORKER:
            from sensejudge_site.embedded import start_embedded_worker

            left, at_work = idle_runs(), runs_at_work()
            resumed = [run for run, what in left if what is Idle.RESUMED]
            declined = options["no_resume"]
            start_embedded_worker(None if declined else resumed)
            for line in _told(left, [] if declined else at_work, declined=declined):
                self.stdout.write(line)
        advice = "" if User.objects.exists() else _NOBODY
        connection.close()
        self.stdout.write(f"{advice}SenseJudge is at http://{host}:{port}/ (Ctrl-C stops it)")
        self.stdout.flush()
        server.run()


def _told(
    left: Sequence[tuple[JudgeRun, Idle]], at_work: Sequence[JudgeRun], *, declined: bool
) -> Iterator[str]:
    """What becomes of the runs that somebody left, with what remains of each.

    In a container nobody can tell whether the process that a run names has died before it.
    """
    taken_up = [] if declined else [run for run, what in left if what is Idle.RESUMED]
    waiting = [run for run, _what in left if run not in taken_up]
    if taken_up:
        yield _("Resuming unfinished runs (serve --no-resume leaves them):")
        yield from map(_remains, taken_up)
    if waiting:
        yield _("Unfinished runs that wait to be resumed on their pages:")
        yield from map(_remains, waiting)
    if at_work:
        yield _("Runs of other processes, resumed after %(seconds)d s without activity:") % {
            "seconds": settings.RUN_STALE_SECONDS
        }
        yield from map(_remains, at_work)


def _remains(run: JudgeRun) -> str:
    """One line: which run, how many rows are left, and about what they cost."""
    left = left_over(run)
    names = [run.dataset.slug, "" if run.annotator is None else str(run.annotator), run.judge]
    if left.cost is None:
        cost = _("cost unknown")
    else:
        cost = _("about %(cost).4f") % {"cost": left.cost} if left.cost else _("no cost")
    return _("  run %(number)d (%(what)s): %(left)d of %(total)d rows left, %(cost)s") % {
        "number": run.pk,
        "what": ", ".join(filter(None, [run.kind.lower(), *names])),
        "left": left.pending,
        "total": left.total,
        "cost": cost,
    }


def _addresses(server: Any) -> list[str]:
    """Every address that a server listens on: a name may have several."""
    if hasattr(server, "effective_listen"):
        return [host for host, _port in server.effective_listen]
    return [server.effective_host]


def _refusal(host: str, users: list[User]) -> str:
    names = ", ".join(user.username for user in users)
    return _(
        "The password of %(users)s is public, so the site cannot listen on %(host)s. Change "
        "it (`manage.py changepassword`), or serve on 127.0.0.1."
    ) % {"users": names, "host": host}
