"""CLIP: its weights, its two towers, and what they embed.

towers               one interface to every CLIP (`load_clip`)
weights              where weights are: a folder, a YAML file that pins them
pretrained           the models that open_clip knows by name (`open_clip_model`)
precomputed_texts    a table of embedded texts in the place of a CLIP
text_tower           many short texts, cut to their tokens
image_tower          many encoded images, decoded while the tower works
preprocessing        open_clip's preprocessing in two parts
half_precision       towers in float16, checked by their first batch
pictures             `embed_pictures`: pictures in memory or files to an array
text_cache           `embed_texts`: texts to an array, kept in the user's cache folder
embed_images         the images of a data set to Parquet
embed_universe       the universe, control texts and class names to Parquet
embedding_chunks     finished parts of an embedding, from which a killed run goes on
near_duplicates      texts that mean nearly the same
"""
