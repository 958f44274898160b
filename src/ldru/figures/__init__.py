"""Figures, drawn with matplotlib from evaluations, analyses, tables and benchmarks."""
