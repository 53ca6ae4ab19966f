"""CLIP: its weights, its two towers, and what they embed.

weights              where weights are: a folder, a YAML file that pins them, a name of open_clip
towers               one interface to every CLIP (`load_clip`), in float32 or float16
patches              embeddings of the patches of a picture, from the same tower
text_tower           many short texts, cut to their tokens
precomputed_texts    a table of embedded texts that replaces a CLIP
embed                `embed_texts` and `embed_pictures`: to arrays; texts are kept in a cache
embed_tables         a universe, class names, and the images of a data set: to Parquet
near_duplicates      texts that mean nearly the same
"""
