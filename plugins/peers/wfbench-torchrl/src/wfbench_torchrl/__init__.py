"""TorchRL's parallel environments and data collector as collectors."""
