"""The REST interface to replays."""
