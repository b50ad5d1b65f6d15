"""The learner: a Megatron-core process group that turns recorded rollouts into policy versions (design §7)."""
