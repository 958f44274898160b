"""Parts that several models are built of."""
