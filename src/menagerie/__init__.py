"""The embedded default world: drawn animals and vehicles, their captions, and a CLIP for them."""
