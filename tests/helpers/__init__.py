"""What tests of several folders share: paths, small models, toy data, golden files, the command line, a server."""
