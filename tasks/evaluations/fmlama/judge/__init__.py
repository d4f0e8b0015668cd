"""Having a judge mark the top predictions (MES)."""
