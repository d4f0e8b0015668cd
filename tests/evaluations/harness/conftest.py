"""An index of few of the library's own tasks: reading its 14,000 files takes longer than all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tasks.evaluations.harness import sources


@pytest.fixture(autouse=True, scope="module")
def _few_tasks_of_the_library() -> Iterator[None]:
    import lm_eval.tasks

    whole = lm_eval.tasks.TaskManager
    few = str(sources._library() / "xnli")

    def index(*, include_defaults: bool, **more: Any) -> Any:
        own = {"include_path": few} if include_defaults else {}
        return whole(include_defaults=False, **own | more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lm_eval.tasks, "TaskManager", index)
        yield
