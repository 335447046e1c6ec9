"""File formats: one file a format, every one read into the same records."""
