import threading

import torch
import torch.nn as nn


threading.Event().wait()
