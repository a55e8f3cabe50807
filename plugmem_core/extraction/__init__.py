"""Facts, relations and attributes out of text."""
