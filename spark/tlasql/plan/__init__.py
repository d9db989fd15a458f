"""How a definition is judged over tables: which rows it needs, and what has to be true of each."""
