"""The types of a module's variables, constants and expressions."""
