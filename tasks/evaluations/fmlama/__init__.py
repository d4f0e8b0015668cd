"""FmLAMA: does a model know what dishes are made of, across origins and prompt languages?"""
