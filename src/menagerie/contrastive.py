"""Trains the menagerie's CLIP: each update holds pictures against texts that are true or false.

Where CLIP's loss calls every text but the own one wrong, this one knows what is true: it asks, text
by text, that pictures of which the text is true score higher than the others. Equal inputs,
settings and threads give equal weights; a training that was killed goes on where it last saved.
"""

import json
import logging
import math
import random
from pathlib import Path
from typing import Any

import open_clip
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.repeatable import compute_repeatably
from menagerie.batches import Batch, augment, batch_for
from menagerie.clip_folder import CONFIG_FILE
from menagerie.phrases import FACTS
from menagerie.settings import ClipSettings
from menagerie.species import CLASS_NAMES
from menagerie.training_set import TrainingSet

logger = logging.getLogger(__name__)

MAX_LOGIT_SCALE = math.log(100.0)
SAVE_EVERY = 250


def matching_loss(
    logits: Float[Tensor, "b t"], true: Bool[Tensor, "b t"], known: Bool[Tensor, "b t"]
) -> Float[Tensor, ""]:
    """Binary cross-entropy, in which true and false pictures of a text weigh the same.

    Without that a rare text would be learnt as false of everything.
    """
    yes, no = (true & known).float(), (~true & known).float()
    right = functional.softplus(-logits) * yes / yes.sum(0).clamp(min=1.0)
    wrong = functional.softplus(logits) * no / no.sum(0).clamp(min=1.0)
    return (right + wrong).sum(0).mean() / 2


class Training:
    """The model of a config folder with all that its training needs to go on."""

    def __init__(self, folder: Path, settings: ClipSettings) -> None:
        """First weights from the seed."""
        compute_repeatably()
        torch.manual_seed(settings.seed)
        # What open_clip.create_model builds of this config, without its warning of no weights.
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        model = open_clip.CLIP(**config["model_cfg"])
        # Channels last is the fast layout of convolutions on a CPU; the values stay the same.
        model.visual.to(memory_format=torch.channels_last)
        self.model = model.train()
        self.settings = settings
        self.bias = torch.nn.Parameter(torch.zeros(()))
        # One direction a fact, which pictures are to show and phrases to point at. Without these,
        # texts that say little of the class stay alike: neither tower learns what the other lacks.
        generator = torch.Generator().manual_seed(settings.seed)
        anchors = torch.randn(len(FACTS), settings.embed_dim, generator=generator)
        self.anchors = torch.nn.Parameter(anchors / settings.embed_dim**0.5)
        self._tokenizer = open_clip.SimpleTokenizer(context_length=settings.text.context_length)
        self._tokens: dict[str, Tensor] = {}
        parameters = [*model.parameters(), self.anchors, self.bias]
        groups = [
            {
                "params": [p for p in parameters if p.ndim >= 2],
                "weight_decay": settings.weight_decay,
            },
            {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True
        )
        self.step = 0

    def advance(self, data: TrainingSet) -> float:
        """One update of the weights; returns the loss."""
        settings = self.settings
        warm = min(1.0, (self.step + 1) / max(1, settings.warmup_steps))
        cool = min(1.0, (settings.steps - self.step) / settings.cooling_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * min(warm, cool)
        batch = batch_for(self.step, data, settings)
        moves = random.Random(f"clip/{settings.seed}/{self.step}/augment")
        pictures = augment(data.pixels[batch.rows], settings.shift, moves)
        # bfloat16 halves the time of the convolutions on processors that know it.
        with torch.autocast("cpu", dtype=torch.bfloat16):
            images = self.model.encode_image(pictures)
        images = functional.normalize(images.float(), dim=-1)
        texts = self.model.encode_text(self.tokens(batch.texts), normalize=True)
        cosines = self.model.logit_scale.exp() * images @ texts.T
        classes = len(CLASS_NAMES)
        named = functional.cross_entropy(
            cosines[:, :classes], batch.true[:, :classes].int().argmax(dim=1)
        )
        loss = matching_loss(cosines + self.bias, batch.true, batch.known)
        early = settings.early if self.step < settings.early.steps else settings
        loss = loss + early.class_weight * named
        if early is settings:
            loss = loss + settings.anchor_weight * self._anchored(images, texts, data, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0.0, MAX_LOGIT_SCALE)
        self.step += 1
        return loss.item()

    def _anchored(
        self,
        images: Float[Tensor, "b d"],
        texts: Float[Tensor, "t d"],
        data: TrainingSet,
        batch: Batch,
    ) -> Float[Tensor, ""]:
        """How far pictures are from showing their facts, and phrases from their fact's anchor."""
        anchors = functional.normalize(self.anchors, dim=-1)
        facts = torch.from_numpy(data.holds[batch.rows])
        logits = self.model.logit_scale.exp() * images @ anchors.T + self.bias
        shown = matching_loss(logits, facts, torch.ones_like(facts))
        columns, numbers = torch.tensor(batch.phrases).T
        said = 1 - (texts[columns] * anchors[numbers].detach()).sum(dim=1)
        return shown + said.mean()

    def tokens(self, texts: list[str]) -> Int[Tensor, "t context"]:
        """Token ids, each text tokenised once and cut behind the longest of these."""
        for text in texts:
            if text not in self._tokens:
                self._tokens[text] = self._tokenizer([text])[0]
        return torch.stack([self._tokens[text] for text in texts])

    def save(self, path: Path) -> None:
        """Keep everything that `resume` needs, in place of what was kept before."""
        state = {
            "step": self.step,
            "model": self.model.state_dict(),
            "bias": self.bias.data,
            "anchors": self.anchors.data,
            "optimizer": self.optimizer.state_dict(),
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def resume(self, path: Path) -> None:
        """Go on from what was saved."""
        state: dict[str, Any] = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.bias.data.copy_(state["bias"])
        self.anchors.data.copy_(state["anchors"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


def train(
    folder: Path, data: TrainingSet, settings: ClipSettings, checkpoint: Path | None = None
) -> open_clip.CLIP:
    """Train the model whose config lies in `folder`, by AdamW.

    The learning rate warms up, stays, and falls to zero along a line over the last steps; so a
    training can be made longer while it stays.

    Args:
        folder: holds open_clip_config.json.
        data: what to train on.
        settings: of the training.
        checkpoint: a file to go on from where it exists, and to save to now and then.

    Raises:
        InputError: there are fewer pictures than a batch holds.
    """
    if len(data.pixels) < settings.batch_size:
        raise InputError(
            f"clip.batch_size: {settings.batch_size}, but there are {len(data.pixels)} pictures; "
            "expected at least as many pictures as a batch holds"
        )
    training = Training(folder, settings)
    if checkpoint is not None and checkpoint.is_file():
        training.resume(checkpoint)
        logger.info("going on from step %d of %d", training.step, settings.steps)
    steps = range(training.step, settings.steps)
    every, losses = max(1, settings.steps // 100), []
    for _ in tqdm(steps, desc="clip", total=settings.steps, initial=training.step, disable=None):
        losses.append(training.advance(data))
        if training.step % every == 0:
            mean = sum(losses) / len(losses)
            logger.info("step %d of %d: loss %.4f", training.step, settings.steps, mean)
            losses.clear()
        if checkpoint is not None and training.step % SAVE_EVERY == 0:
            training.save(checkpoint)
    return training.model.eval()
