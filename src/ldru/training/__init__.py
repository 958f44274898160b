"""Training: fleets of models, stepped by the paper's optimiser."""
