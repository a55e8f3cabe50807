"""What the adapters of different frameworks share; none of it knows a framework."""
