"""Evaluation: answers of a model in bounded memory, accuracy, and statistics of it."""
