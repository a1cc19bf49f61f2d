"""Private search for the weights of a linear predictor: by steps along coordinates, or by breeding."""
