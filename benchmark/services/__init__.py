"""Writes: what is measured and kept."""
