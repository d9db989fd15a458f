"""Pictures of the marts: ``reading`` takes the rows of one group from the lake, ``drawing`` draws them."""
