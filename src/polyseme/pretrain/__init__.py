"""New models: corpus/ prepares text, training/ learns from it; a recipe holds every choice."""
