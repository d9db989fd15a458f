"""The evidence that only this protocol reads: lines of the request logs, and what partitions' folders say."""
