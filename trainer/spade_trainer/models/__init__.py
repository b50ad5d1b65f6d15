"""Model families: Hugging Face's files and names on one side, Megatron's parameters on the other."""
