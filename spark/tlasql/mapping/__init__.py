"""The file that says where each variable of a module lives: which tables and columns hold it."""
