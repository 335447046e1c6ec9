"""Whether a request comes from the machine that serves it.

Its socket says so, never a header that the client writes. `serve` and granian tell the address that
they listen on; of any other server nothing is known for certain, and a request counts as one from
elsewhere. So does one through a proxy, as far as the proxy tells: `Forwarded`, `X-Forwarded-*` and
`Via` are looked for, whatever they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})
"""These two exactly: another address of 127.0.0.0/8 may be given to a proxy or a container."""

_LISTENING: Final = "sensejudge.listening"  # no header: those of a client begin with HTTP_
_PROXY: Final = ("HTTP_FORWARDED", "HTTP_VIA")
_PROXY_PREFIX: Final = "HTTP_X_FORWARDED"


def with_addresses(application: WSGIApplication, addresses: Sequence[str]) -> WSGIApplication:
    """The application, which learns of each request where its server listens.

    `addresses` is read at each request: a server knows them only after it was made.
    """

    def listening(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_LISTENING] = addresses
        return application(environ, start_response)

    return listening


def is_from_this_machine(environ: Mapping[str, Any]) -> bool:
    """Whether a request came to a loopback address, and no proxy says that it passed it on."""
    if any(name in _PROXY or name.startswith(_PROXY_PREFIX) for name in environ):
        return False
    addresses = _addresses(environ)
    return bool(addresses) and LOOPBACK.issuperset(addresses)


def _addresses(environ: Mapping[str, Any]) -> Sequence[str]:
    """Every address that the request's socket may have at this end; none where nobody knows."""
    if _LISTENING in environ:
        addresses: Sequence[str] = environ[_LISTENING]
        return addresses
    if environ.get("SERVER_SOFTWARE") == "Granian":
        return [environ["SERVER_NAME"]]  # the address it was bound to; others write the Host here
    return []
