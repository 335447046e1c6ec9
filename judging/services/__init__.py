"""What writes judging's rows, a topic a module."""
