"""What satisfaction runs, memories and their pages read."""
