"""How far an output may be off: what the referee derives where a problem names no tolerance."""
