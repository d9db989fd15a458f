"""The states around a verdict, as whole values, and TLC's own verdict on them."""
