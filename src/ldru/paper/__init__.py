"""One paper: its settings, its tables, its numbers. A second paper is a second room."""
