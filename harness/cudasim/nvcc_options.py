"""nvcc's options that mean nothing to a CPU, in long and short spelling, as `nvcc --help` of CUDA 13 has them."""

from __future__ import annotations

_WITH_VALUE = """
    -arch --gpu-architecture -code --gpu-code -gencode --generate-code -Xptxas --ptxas-options -Xlinker
    --linker-options -Xcudafe -Xnvlink --nvlink-options -Xarchive -Xfatbin -maxrregcount --maxrregcount -ccbin
    --compiler-bindir -diag-suppress --diag-suppress -diag-error --diag-error -diag-warn --diag-warn -threads
    --threads -t -split-compile --split-compile -rdc --relocatable-device-code -odir --output-directory -cudart
    --cudart -ftz --ftz -prec-div --prec-div -prec-sqrt --prec-sqrt -fmad --fmad -default-stream --default-stream
    -x --x -l --library -L --library-path -m --machine -Werror --Werror -optf --options-file
"""

_ALONE = """
    -c --compile -dc --device-c -dw -g --debug -G --device-debug -lineinfo --generate-line-info -use_fast_math
    --use_fast_math -O -O0 -O1 -O2 -O3 -w --disable-warnings -v --verbose -keep --keep -pg --profile -m64
    -expt-relaxed-constexpr --expt-relaxed-constexpr -expt-extended-lambda --expt-extended-lambda -extended-lambda
    --extended-lambda -shared --shared -restrict --restrict -res-usage --resource-usage -allow-unsupported-compiler
    --allow-unsupported-compiler -extra-device-vectorization --extra-device-vectorization -dlto --dlink-time-opt
    -Wno-deprecated-gpu-targets -Wno-deprecated-declarations -Wreorder -Wext-lambda-captures-this
    -forward-unknown-to-host-compiler --forward-unknown-to-host-compiler -src-in-ptx --source-in-ptx -time --time
    -display-error-number --display-error-number -no-display-error-number --no-display-error-number
    -err-no -M -MM -MP --generate-dependency-targets
"""

IGNORED_WITH_VALUE = frozenset(_WITH_VALUE.split())
IGNORED_ALONE = frozenset(_ALONE.split())
