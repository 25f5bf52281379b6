"""What the communication hierarchy gains: one command, tables and plots."""
