from pathlib import Path

from torch.utils.cpp_extension import load

HERE = Path(__file__).parent
SOURCES = [str(HERE / "binding.cpp"), str(HERE / "double.cu")]
extension = load(name="double_of_files", sources=SOURCES, extra_include_paths=[str(HERE)])
