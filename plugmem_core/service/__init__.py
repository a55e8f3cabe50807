"""What makes memories out of prose."""
