"""Whether the files that pages need beside them are there."""

from __future__ import annotations

from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage


def uncollected() -> bool:
    """Whether a file that a page may name is missing among those that `collectstatic` wrote.

    Such a page ends in an error. Without a manifest addresses are what they are, so nothing is
    missing.
    """
    try:
        if not isinstance(staticfiles_storage, ManifestFilesMixin):
            return False
    except ValueError:  # a manifest is there, but was not written to its end
        return True
    known = staticfiles_storage.hashed_files
    return any(
        path.replace("\\", "/") not in known
        for finder in get_finders()
        for path, _ in finder.list([])
    )
