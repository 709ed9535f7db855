"""Occurrences of words and their vectors, on disk or in memory, and exact search among them."""
