"""How an answer is checked, and what is said about it."""
