"""What `check --deploy` says of a deployment that it cannot see."""

from __future__ import annotations

from typing import Any

from django.core import checks


def check_proxy(**_options: Any) -> list[checks.CheckMessage]:
    """A warning, always: what stands in front of the application is nothing it can know."""
    return [
        checks.Warning(
            "Whether a proxy that buffers requests stands in front of this site cannot be seen "
            "from here. Without one, a few half-sent forms hold every thread of granian.",
            hint=(
                "Let granian listen on 127.0.0.1 alone, and put nginx in front of it as "
                "docs/nginx.conf has it."
            ),
            id="sensejudge.W004",
        )
    ]
