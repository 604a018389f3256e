"""Programs of the torture suite as users of JAX and PyTorch write them."""
