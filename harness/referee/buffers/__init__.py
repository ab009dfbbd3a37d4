"""The buffers that referee and workers share, and the turns that workers take over them."""
