"""The REST interface to what the judge says."""
