"""Pictures of the marts: ``reading`` takes the rows of one group from the lake, ``layout`` arranges them and
``drawing`` draws them; ``producer_reading``, ``producer_layout`` and ``producer_drawing`` do so for one
transactional id. ``canvas`` is what all pictures share.
"""
