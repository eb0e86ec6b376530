"""Libraries to load first: none."""
