"""CURE: can a model explain norms (thick), not only label them (thin)?"""
