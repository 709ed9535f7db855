"""Named entities: tag words with a CRF on top."""
