"""The language between TLA+ and SQL: expressions, their types, places in the source, and errors at them."""
