"""A package, so that tests of other folders may have the same file names."""
