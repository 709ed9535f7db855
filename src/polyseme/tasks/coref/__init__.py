"""Coreference: which mentions refer to the same thing."""
