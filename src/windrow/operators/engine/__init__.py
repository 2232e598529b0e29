"""What runs a plan, whoever asks: a driver per node, a scheduler over them, and the late rule."""
