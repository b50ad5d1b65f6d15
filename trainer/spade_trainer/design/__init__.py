"""The designer's side: prompts, skills, parsing of programs, memory."""
