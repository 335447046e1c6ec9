"""The REST interface to what is labelled."""
