"""Plans as SQL: sqlglot trees, printed for one of the engines."""
