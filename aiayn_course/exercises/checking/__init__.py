"""Check a student's answer, and say what is wrong with it."""
