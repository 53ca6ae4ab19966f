"""Make a Llama of two layers with random weights, its tokenizer and chat template, in a folder.

    .venv-vllm/bin/python tests/queries/tiny_llama.py FOLDER TEXTS

TEXTS is a file with what the tokenizer learns its tokens from. The model writes noise, but it likes
to end a line and an answer: its answers are short.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PAD, END = "<|pad|>", "<|end|>"
TOKENS = 2000
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
# Logits by which a token is likelier than others.
LIKED = {END: 3.0, "\n": 4.0}


def tokenizer(texts: str) -> PreTrainedTokenizerFast:
    """A byte-level BPE, as that of the real Llama."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TOKENS,
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts.splitlines(keepends=True), trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token=PAD, eos_token=END)
    made.chat_template = CHAT_TEMPLATE
    return made


def llama(words: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Random weights, but for what all positions share, which the liked tokens answer to."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            bos_token_id=None,
            pad_token_id=words.convert_tokens_to_ids(PAD),
            eos_token_id=words.convert_tokens_to_ids(END),
        )
    )
    with torch.no_grad():
        # The first coordinate of every hidden state ends up near sqrt(width), that of a unit row.
        model.model.embed_tokens.weight[:, 0] = 10.0
        model.lm_head.weight[:, 0] = 0.0
        for text, logit in LIKED.items():
            [token] = words.encode(text, add_special_tokens=False)
            model.lm_head.weight[token, 0] = logit / 64**0.5
    return model


def main() -> None:
    folder, texts = map(Path, sys.argv[1:])
    words = tokenizer(texts.read_text(encoding="utf-8"))
    words.save_pretrained(folder)
    llama(words).save_pretrained(folder)


if __name__ == "__main__":
    main()
