"""Tasks: where words and their right answers come from."""
