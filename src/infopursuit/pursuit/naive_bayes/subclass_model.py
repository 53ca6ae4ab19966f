"""The posterior from added evidence of subclasses, pooled into classes."""

from __future__ import annotations

from typing import ClassVar

from infopursuit.pursuit.answers.subclasses import SubclassTable
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import NaiveBayes


class SubclassBayes(NaiveBayes):
    """f: the posterior from a table of subclasses."""

    kind: ClassVar[str] = "subclasses"
    TABLE: ClassVar[type[AnswerTable]] = SubclassTable
