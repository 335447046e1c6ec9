"""Reads: rows in, core rows out."""
