"""Not here: see _absent.py."""

from ._absent import refuse

refuse(__name__)
