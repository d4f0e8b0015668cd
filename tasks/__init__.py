"""Parts of the flows: metrics, engines, and one package per evaluation."""
