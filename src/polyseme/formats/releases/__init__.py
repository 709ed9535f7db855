"""Releases of ELMo by name: which ones exist (known), how files are downloaded (fetch) and where they are kept (store).

Nothing here imports an array library, so `polyseme models` answers at once.
"""
