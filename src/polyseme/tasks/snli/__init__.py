"""Textual entailment: does one sentence follow from another (SNLI)?"""
