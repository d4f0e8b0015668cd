"""What tests of several folders share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.engines import embedded

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def models_cache() -> Path:
    """Where embedded models are prepared once and kept between runs."""
    home = os.environ.get("CULTURESCOPE_HOME") or REPOSITORY / ".culturescope"
    return Path(home) / "models"


@pytest.fixture(scope="session")
def smollm2_folder(models_cache: Path) -> Path:
    """SmolLM2-135M-Instruct, a chat model."""
    return embedded.prepare("smollm2-135m", models_cache)


@pytest.fixture(scope="session")
def gemma3_folder(models_cache: Path) -> Path:
    """Gemma 3 270M, a base model without chat template."""
    return embedded.prepare("gemma3-270m", models_cache)
