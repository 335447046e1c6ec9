"""By which address a client's attempts to sign in are counted."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.http import HttpRequest

_UNKNOWN: Final = "::"
_NETWORK_BITS: Final = 64  # of IPv6: whoever has one address of such a network has all of them


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address, or its IPv6 network; "::" where a server tells none.

    Of TRUSTED_PROXIES proxies in front, each appends to `X-Forwarded-For` where its request came
    from; what stands further left was sent by the client. A request with fewer of them came past a
    proxy, and counts for who sent it.
    """
    sender = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(hops) >= settings.TRUSTED_PROXIES:
            sender = _counted(hops[-settings.TRUSTED_PROXIES].strip()) or sender
    return _counted(sender) or _UNKNOWN


def check_trusted_proxies(**_options: Any) -> list[checks.CheckMessage]:
    """A warning where a proxy is in front and everybody has its address."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "HTTPS implies a proxy, but TRUSTED_PROXIES is 0: wrong passwords from one client lock "
            "out everyone.",
            hint="Set TRUSTED_PROXIES to the number of proxies that append to X-Forwarded-For.",
            id="sensejudge.W002",
        )
    ]


def _counted(word: str) -> str:
    """An address as it is counted; "" for a word that is none."""
    try:
        address = ip_address(word)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), _NETWORK_BITS), strict=False).network_address)
    return str(address)
