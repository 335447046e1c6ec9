"""Pure Python: no framework, no clock, no hidden randomness."""
