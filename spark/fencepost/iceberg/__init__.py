"""Iceberg through PyIceberg: the catalog that the configuration names, commits, and the files
that they add.
"""
