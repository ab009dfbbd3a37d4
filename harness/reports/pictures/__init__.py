"""Pictures of one evaluation: its samples, and its rates below the device's ceilings.

What a picture shows is worked out without matplotlib (samples, roofline, heading) and then drawn (draw_*).
"""
