"""The audit of rebalances of classic groups: who claims which partition of which generation (KIP-792)."""
