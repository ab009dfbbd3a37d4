"""Measuring: arms take turns, the referee keeps the clock."""
