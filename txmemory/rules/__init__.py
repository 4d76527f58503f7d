"""Every rule of the store, once, as pure functions over the model."""
