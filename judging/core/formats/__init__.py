"""Formats of verdicts, one file each."""
