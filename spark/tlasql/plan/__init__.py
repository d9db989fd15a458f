"""How a definition is judged over tables: the rows it needs, and what has to be true of each."""
