"""What runs inside a sandbox pod: the session server and the cells. Imports nothing of ours but the contracts."""
