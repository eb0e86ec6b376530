"""Example models."""

from trunnion.datasets import get_example  # noqa: F401
