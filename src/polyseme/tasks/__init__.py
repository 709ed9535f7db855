"""Task models: ELMo at the input, at the output, or both."""
