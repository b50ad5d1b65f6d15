"""Run storage: layout, manifests and part files of design §8."""
