"""How fast a memory answers, beside the reference engine and other stores for agents."""
