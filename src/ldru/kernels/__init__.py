"""Triton kernels, imported on first use; each beside the plain code it must agree with."""
