"""How figures look and are written. It knows numbers, and nothing of where they come from."""
