"""What the judge says: preferences, judgments, user memories, and the engine that runs them."""
