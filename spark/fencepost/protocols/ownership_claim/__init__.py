"""The audit of rebalances of classic groups: which member claims which partition of which generation
(KIP-792).
"""
