"""Pages that stay right while rows are added."""

from __future__ import annotations

from rest_framework.pagination import CursorPagination


class ByIdPagination(CursorPagination):
    """By primary key, oldest first; `page_size` up to 1,000."""

    ordering = "pk"
    page_size_query_param = "page_size"
    max_page_size = 1000
