"""Architectures with one call: `model(tokens, lengths=None) -> [batch, classes]`."""
