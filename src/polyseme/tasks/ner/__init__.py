"""Named entities: a tagger with a CRF on top."""
