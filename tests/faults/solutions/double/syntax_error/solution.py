class ModelNew(nn.Module:
