"""The claims of the paper, one file for each."""
