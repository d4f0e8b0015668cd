"""WorldWise: which cultural values show in a model's reasoning, with and without a persona?"""
