"""Run untrusted environment programs, and judge them: pod (the server in gVisor), client, verify."""
