"""Speed and memory of this project against named peers: ``python -m benchmarks [names…]``. See README.md."""
