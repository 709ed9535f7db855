"""Coreference: which mentions mean the same."""
