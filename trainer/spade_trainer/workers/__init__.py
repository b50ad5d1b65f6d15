"""The Jobs' processes: prepare, design, play, and the beacon."""
