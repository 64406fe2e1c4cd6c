"""Configurations of variants for the laws; see layers.py."""
