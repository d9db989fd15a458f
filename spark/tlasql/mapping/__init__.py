"""The file that says which tables and columns hold each variable of a module."""
