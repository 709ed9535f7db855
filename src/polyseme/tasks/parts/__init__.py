"""Parts that the networks of several tasks are made of."""
