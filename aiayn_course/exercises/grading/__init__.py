"""Grade a folder of students' answers."""
