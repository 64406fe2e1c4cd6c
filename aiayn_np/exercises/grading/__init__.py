"""Checking a folder of students' answers."""
