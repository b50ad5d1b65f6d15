"""An engine: vLLM behind a front of ours that serves only proven policies (design §7)."""
