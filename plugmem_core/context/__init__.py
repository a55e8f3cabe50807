"""Context for a prompt, fitted into a token budget without a model."""
