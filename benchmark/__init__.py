"""What it means: agreement, bias, consistency, rankings."""
