"""The foundation of every room: errors, JSON, files, tensors on disk, random bits, progress."""
