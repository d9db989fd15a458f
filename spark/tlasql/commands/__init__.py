"""What the commands do that judge data or ask an engine, and how all of them answer Ctrl-C."""
