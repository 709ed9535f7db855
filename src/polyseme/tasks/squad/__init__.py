"""Question answering: the span of a paragraph that answers (SQuAD)."""
