"""Pages of runs, preferences, memories and endpoints."""
