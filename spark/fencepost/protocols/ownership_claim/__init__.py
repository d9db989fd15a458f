"""The audit of rebalances of classic groups: who claims which partition, and of which generation (KIP-792)."""
