"""Parts with their own rates and what stands between them; so far the port ledger clamp."""
