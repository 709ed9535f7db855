"""Files and folders that are never half-written, and never written by two processes at once."""
