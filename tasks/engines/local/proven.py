"""A loaded model that scores no text and runs no pass beyond those that were compared with plain passes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import torch

from tasks.engines.local.pretrained import Pretrained
from tasks.engines.local.self_check import FIRST, UNLIMITED, Reach
from tasks.engines.protocols import EngineError


class Proven(Pretrained):
    """A model whose scores are compared with plain passes before they are used; base class of scorers.

    Attributes:
        proven: how far scores were compared.
        on_proof: called with it once it grows.
        lost: the failure of its device, after which no call works. is_halved: its passes are half as wide as
            its spec said, because memory was short (``device_faults``).
    """

    proven: Reach = Reach()
    on_proof: Callable[[Reach], None] | None = None
    lost: EngineError | None = None
    is_halved = False
    _most: int

    @abstractmethod
    def _measure(self) -> None:
        """Measure what lies after the head."""

    @abstractmethod
    def _compare(self, reach: Reach, is_longer: bool) -> None:
        """Compare scores with plain passes; raises EngineError if they differ.

        Args:
            is_longer: whether texts are; otherwise only passes are wider than those compared before.
        """

    def prove(self, most: int, proven: tuple[int, int], width: int = 0) -> None:
        """Measure the head, and compare scores of the first length unless that was done before.

        Args:
            most: tokens of the longest text that the model reads.
            proven: how far an earlier process compared the same engine's scores (``proofs``).
            width: tokens of a packed pass to compare.

        Raises:
            EngineError: scores differ from plain passes, or cannot be read; says what to do.
        """
        self._most = most
        self._measure()
        self.proven = Reach(*proven)
        self.reach(min(FIRST, most), width)

    def reach(self, tokens: int, width: int = 0) -> None:
        """Compare scores of longer texts or wider passes with plain passes, unless that was done.

        Args:
            tokens: of a text that the model is to read.
            width: of a packed pass.

        Raises:
            EngineError: they differ.
        """
        if self.proven.covers(tokens, width):
            return
        before = self.proven
        goal = before.beyond(tokens, width, self._most)
        self.proven = UNLIMITED
        try:
            with torch.inference_mode(False), torch.no_grad():
                self._compare(goal, goal.tokens > before.tokens)
        except EngineError as error:
            if not 0 < before.tokens < goal.tokens:
                raise
            raise EngineError(f"{error}; shorter ones, of up to {before.tokens}, are scored") from error
        finally:
            self.proven = before
        self.proven = goal
        if self.on_proof:
            self.on_proof(goal)
