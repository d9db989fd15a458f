"""What the commands do that judge data or ask an engine."""
