"""The drawings of `drawings.py`, and the running example that they share with the lessons."""
