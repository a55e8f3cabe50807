"""How well a memory answers: over collections of questions, beside other ways to search."""
