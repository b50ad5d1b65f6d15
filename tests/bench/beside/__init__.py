"""What the sandbox is measured beside: a bare socket, the reference's `exec`, a process per program, OpenEnv."""
