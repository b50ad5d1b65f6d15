"""The player's side: what a player is told and how its answers become actions."""
