"""What a frozen model's vectors know: linear probes, word senses, and the baselines to compare with."""
