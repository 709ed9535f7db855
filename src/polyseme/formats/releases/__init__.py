"""Releases of ELMo by name: which there are (known), how their files come here (fetch) and where they are kept (store).

Nothing here imports an array library: `polyseme models` answers at once.
"""
