"""A problem: the reference in problem.py (KernelBench's interface) and what problem.yaml adds."""

from __future__ import annotations

import ast
import dataclasses
import tempfile
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.errors import InvalidFile
from harness.model.check import Tolerance
from harness.model.record import SETTINGS
from harness.plain_file import read_text
from harness.python_text import parse
from harness.suggest import did_you_mean
from harness.workspace.constants import module_constants, with_constants
from harness.workspace.source_hash import hash_folder, refuse_unfit
from harness.workspace.yaml_file import read_yaml

Precision = Literal["float64", "float32", "tf32", "float16", "bfloat16"]

Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]

FULL = "full"

VariantName = Literal["rescaled", "shifted", "negative", "signed", "ties", "few_terms", "infinite", "nan"]
"""Ways to change what get_inputs() draws: a solution must compute the function, not what suits one distribution."""

DEFAULT_VARIANTS: tuple[VariantName, ...] = ("rescaled", "shifted", "negative", "signed", "ties", "few_terms")
"""The default variants, without infinities and NaN, which a problem must ask for. A sum of products promises nothing
about them: tensor cores take whole tiles, padded with zeros, and 0 times infinity is NaN where the reference has
infinity."""

LEAST_TOLERANCE = {"float64": 1e-8, "float32": 1e-4, "tf32": 2e-3, "float16": 1e-2, "bfloat16": 2e-2}
"""The least tolerance of any output by precision, in local scales, where problem.yaml names none: float32 to bfloat16
as in KernelBench's evaluator, tf32 from the error of torch's own tf32 convolution (largest 6e-4 on outputs up to 2)
with room for another order of summation."""


@dataclass(frozen=True, config=SETTINGS)
class Case:
    """One setting of the problem: values for its constants, and init inputs instead of get_init_inputs()'s."""

    constants: dict[str, Any] = field(default_factory=dict)
    """Other values for constants of problem.py."""
    init_inputs: tuple[Any, ...] | None = None
    """Arguments of the constructor, instead of get_init_inputs()."""


@dataclass(frozen=True, config=SETTINGS)
class NamedTolerance:
    """The tolerance that problem.yaml names: |got − want| ≤ atol + rtol·|want|."""

    atol: Error
    """Largest absolute error where the right value is 0."""
    rtol: Error
    """Further error allowed, as a share of the right value."""


@dataclass(frozen=True, config=SETTINGS)
class ProblemFile:
    """problem.yaml as it is written."""

    title: str | None = None
    """One line for tables and pages. Default: the folder's name."""
    description: str = ""
    """A description of what is computed."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    precision: Precision | None = None
    """The arithmetic that outputs are held to. Default: the floating-point type of most of the reference's input and
    output elements, of 16 bits or more."""
    tolerance: Literal["exact"] | NamedTolerance | None = None
    """exact, or atol and rtol of |got - want| <= atol + rtol * |want|. Default: derived."""
    independent_batch: bool = False
    """True where rows along dimension 0 don't depend on each other; this is verified before it is used."""
    backward: bool = False
    """True: a call is a training step, which gives the gradients of inputs and parameters as well."""
    state: tuple[str, ...] = ()
    """Arguments of forward() that a call changes for later ones, such as a cache: what they hold then is judged."""
    variants: tuple[VariantName, ...] = DEFAULT_VARIANTS
    """Changes of get_inputs()'s tensors under which every case is tried too; [] for none. infinite and nan belong
    where the operation has a meaning for them."""
    cases: dict[str, Case | None] = field(default_factory=dict)
    """Settings of the problem besides 'full', the file as written."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A validated problem. `cases` holds 'full' (the constants as written) first.

    `independent_batch`: rows along dimension 0 of tensor inputs and outputs don't depend on each other, so that the
    oracle may work in pieces; checked on a small case before it is relied on. `backward`: a call is a training step,
    forward and backward. `state`: arguments that a call changes for later ones. `batch_statistics`: normalisations take
    the batch's, as in training mode. `keeps_parameters`: they aren't varied where only a copy of the input would pass.
    `own_parameters`: a solution's are as its constructor makes them under Model's seed, and take no values of Model's.
    """

    name: str
    folder: Path
    source: str
    title: str
    description: str
    tags: tuple[str, ...]
    precision: Precision | None
    tolerance: Tolerance | None
    independent_batch: bool
    cases: dict[str, Case]
    variants: tuple[VariantName, ...] = DEFAULT_VARIANTS
    backward: bool = False
    state: tuple[str, ...] = ()
    batch_statistics: bool = False
    keeps_parameters: bool = False
    own_parameters: bool = False
    file: str | None = None
    """The path of the bare file that it was made of, as it was named."""

    @property
    def sha256(self) -> str:
        return hash_folder(self.folder)

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """The changes of problem.py that make each case: constants, and `init_inputs`."""
        found = {}
        for name, case in self.cases.items():
            own = {} if case.init_inputs is None else {"init_inputs": list(case.init_inputs)}
            found[name] = {**case.constants, **own}
        return found

    def source_for(self, case: str) -> str:
        """Return problem.py with the case's constants in place."""
        return with_constants(self.source, self.cases[case].constants)


def load_problem(folder: Path) -> Problem:
    """Read and validate one problem folder.

    Raises:
        InvalidFile: names the file, the key and what it should be; or a link that leads out of the folder.
    """
    source = _read_source(folder / "problem.py")
    refuse_unfit(folder)
    path = folder / "problem.yaml"
    written = read_yaml(ProblemFile, path) if path.exists() else ProblemFile()
    _check_cases(written, source, path)
    return Problem(
        name=folder.name,
        folder=folder,
        source=source,
        title=written.title or folder.name,
        description=written.description.strip(),
        tags=written.tags,
        precision=written.precision,
        tolerance=_tolerance(written),
        independent_batch=written.independent_batch,
        cases={FULL: Case(), **{name: case or Case() for name, case in written.cases.items() if name != FULL}},
        variants=tuple(dict.fromkeys(written.variants)),
        backward=written.backward,
        state=written.state,
    )


def load_bare_problem(text: bytes, path: Path) -> Problem:
    """Validate the text of a file at `path` as load_problem() does one with nothing beside it. Raises: InvalidFile."""
    with tempfile.TemporaryDirectory() as folder:
        (copy := Path(folder, "problem.py")).write_bytes(text)
        try:
            return load_problem(copy.parent)
        except InvalidFile as error:
            raise InvalidFile(str(error).replace(str(copy), str(path))) from None


def _read_source(path: Path) -> str:
    try:
        source = read_text(path, encoding="utf-8-sig")
        tree = parse(source)
    except FileNotFoundError:
        raise InvalidFile(f"{path} is missing: a problem folder holds problem.py with the reference Model") from None
    except SyntaxError as error:
        raise InvalidFile(f"{path}:{error.lineno}: {error.msg}") from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:  # the last two: what is nested deep
        raise InvalidFile(f"{path}: can't be read: {error}") from None
    defined = {n.name: n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    needed = ["Model", "get_inputs"] + ["get_init_inputs"] * _takes_arguments(defined.get("Model"))
    for name in needed:
        if name not in defined:
            swapped = "; it has ModelNew: is it the solution, and swapped with the reference?"
            raise InvalidFile(
                f"{path}: '{name}' is not defined; a problem needs {', '.join(needed)}"
                f"{swapped if 'ModelNew' in defined else ''}"
            )
    return source


def _takes_arguments(model: ast.AST | None) -> bool:
    """Say whether the constructor that the class itself defines takes any."""
    inside = model.body if isinstance(model, ast.ClassDef) else []
    constructors = [one.args for one in inside if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    return any(len(given.posonlyargs + given.args) > 1 or given.kwonlyargs or given.vararg for given in constructors)


def _check_cases(written: ProblemFile, source: str, path: Path) -> None:
    valid = module_constants(source)
    for case_name, case in written.cases.items():
        for name, value in case.constants.items() if case else ():
            if name not in valid:
                raise InvalidFile(
                    f"{path}: cases.{case_name}.constants: problem.py has no constant '{name}'."
                    f"{did_you_mean(name, valid)}"
                )
            written_there = getattr(valid[name], "value", None)
            if isinstance(written_there, int | float) and isinstance(value, str | list | dict):
                raise InvalidFile(
                    f"{path}: cases.{case_name}.constants.{name}: {value!r} where a number belongs; problem.py has "
                    f"{written_there}"
                )
    full = written.cases.get(FULL)
    if full not in (None, Case()):
        raise InvalidFile(f"{path}: cases.full: 'full' is the problem as written and takes no values")


def _tolerance(written: ProblemFile) -> Tolerance | None:
    if written.tolerance == "exact":
        return Tolerance(0.0, 0.0)
    return None if written.tolerance is None else Tolerance(written.tolerance.atol, written.tolerance.rtol)
