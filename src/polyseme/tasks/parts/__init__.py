"""Building blocks shared by the networks of several tasks."""
