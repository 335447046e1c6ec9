"""What `check --deploy` says of a deployment that it cannot see."""

from __future__ import annotations

from typing import Any

from django.core import checks


def check_proxy(**_options: Any) -> list[checks.CheckMessage]:
    """A warning, always: what stands in front of the application is nothing it can know."""
    return [
        checks.Warning(
            "This check cannot see whether a proxy that buffers requests is in front of this site. "
            "Without one, a few half-sent forms can block every thread of granian.",
            hint=(
                "Let granian listen on 127.0.0.1 only, and put nginx in front of it as in "
                "docs/nginx.conf."
            ),
            id="sensejudge.W004",
        )
    ]
