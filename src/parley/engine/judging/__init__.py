"""The judge: what it is told, how its opinion is read, and what follows from it."""
