"""The picture of one group: ``reading`` takes its rows, ``layout`` arranges them, ``drawing`` draws them."""
