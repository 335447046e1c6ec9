"""JSON that people enter in a form."""

from __future__ import annotations

import json
from typing import Any


class StorableDecoder(json.JSONDecoder):
    """Reads JSON that every database holds: no NaN, no endless digits or depths."""

    def decode(self, text: str, *_place: Any) -> Any:
        """The value.

        Raises:
            json.JSONDecodeError: there is none, or it is not to be stored; a form takes no other.
        """
        try:
            read = super().decode(text)
            json.dumps(read, allow_nan=False)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:
            raise json.JSONDecodeError(str(error), text, 0) from error
        return read
