"""The one door to language models: everything that is sent to an endpoint leaves from here."""
