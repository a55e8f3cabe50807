"""The differential test: the same operations on the reference engine and on ours."""
