"""One shape for every error of the API: {code, message, fields}.

A refusal adds its `detail`; what is invalid is listed in `faults`, too, each with a code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from annotation.core.refusals import Refused

if TYPE_CHECKING:
    from rest_framework.response import Response


def shaped(code: str, message: str) -> dict[str, Any]:
    """The body of an error that is about no field."""
    return {"code": f"api:{code}", "message": message, "fields": {}}


def refusal(refused: Refused) -> dict[str, Any]:
    """The body of a refusal."""
    said = {"code": refused.code, "message": refused.text, "detail": str(refused)}
    return {**said, "fields": {}}


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Give DRF's answer this project's shape; None lets Django report a bug as a bug."""
    # Only here: what every command imports would grow by a quarter of a second.
    from rest_framework import exceptions
    from rest_framework.response import Response
    from rest_framework.views import exception_handler

    if isinstance(error, Refused):
        return Response(refusal(error), status=error.status)
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        fields = response.data if isinstance(response.data, dict) else {"": response.data}
        response.data = {
            "code": "api:invalid",
            "message": "Some fields are invalid; see `fields`.",
            "fields": fields,
            "faults": list(_faults(error.get_full_details())),
        }
        return response
    detail = response.data.get("detail") if isinstance(response.data, dict) else None
    code = getattr(detail, "code", None) or "error"
    response.data = shaped(code, str(detail or ""))
    return response


def _faults(details: Any, field: str = "") -> Iterator[dict[str, str]]:
    """Everything that is wrong, field by field."""
    if isinstance(details, list):
        for each in details:
            yield from _faults(each, field)
    elif set(details) == {"message", "code"} and isinstance(details["message"], str):
        yield {"field": field, "code": details["code"], "reason": details["message"]}
    else:
        for name, each in details.items():
            yield from _faults(each, f"{field}.{name}".strip("."))
