"""Data sets: where images come from, how they are decoded, which split each one is in.

open_images      opens a data set of any accepted form (and lists the forms)
image_source     what every form gives: checked rows, and pixels when asked for
image_folders    train/CLASS/IMAGE, CLASS/IMAGE; class names
pinned_datasets  data sets that a YAML file pins: hub, disk, torchvision, published archives
archives         the layouts of published archives
packed_pictures  the hub's Parquet, tars of WebDataset, data sets of the hub by name
decoding         pictures of every kind to 8-bit RGB: the one decoder
embedded_files   images that are embedded already: Parquet, .npz, .npy
labelled_images  embedded images with labels, in memory or in shards; held-out parts and samples
matrix           rows of numbers, read in blocks
duplicates       test images that are also training images; classes without images
settings         what params.yaml says of a data set
"""
