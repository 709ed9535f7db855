"""Imports point to the left in the order of the layers, and what should be quick to import does not import torch."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import polyseme
from helpers.paths import BENCHMARKS

SOURCE = Path(polyseme.__file__).parent

#: From left to right. A module may import what stands left of its own place, and its own folder; not a neighbour
#: in the same place.
#:
#: Everything left of ``nn`` does without torch. ``index`` uses the windows of ``embed`` and the places of ``lm``,
#: ``probes`` the data of ``tasks``: they join them in one place when those have moved to the left.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "lazy"),
    ("extras", "plugins", "settings"),
    ("jobs",),
    ("text", "bilm_config", "kernel"),
    ("formats",),
    ("engine",),
    ("elmo",),
    ("nn", "embed", "lm", "export"),
    ("pretrain", "tasks"),
    ("index", "probes"),
    ("senses",),
    ("reproduce", "demo"),
    ("compat",),
    ("serve", "adapters"),
    ("cli",),
)
PLACE = {name: place for place, names in enumerate(LAYERS) for name in names}

#: Files of the top folder that belong to a layer of another name.
PARTS = {
    **dict.fromkeys(("encoding", "mixing", "pooling", "prepared_text", "sentence_reader"), "elmo"),
    **dict.fromkeys(("languagechange", "mteb", "sklearn", "spacy"), "adapters"),
    "__main__": "cli",
}

#: (module, what it imports to the right): allowed inside functions and for type checkers only, because the user's
#: object offers these verbs.
EXCEPTIONS = {
    ("polyseme.elmo", "lm"),
    ("polyseme.elmo", "nn"),
    ("polyseme.elmo", "senses"),
    ("polyseme.sentence_reader", "nn"),
    ("polyseme.index.vector_index", "senses"),
}

#: The package itself hands out its public names and has no place; it imports them on first use.
PACKAGE = "polyseme"
HOMES = {name: home for home, names in polyseme._HOME.items() for name in names}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def layer_of(module: str) -> str:
    """ "nn" for polyseme.nn.bilm."""
    part = module.split(".")[1]
    return PARTS.get(part, part)


def imports_of(module: str, text: str, *, is_folder: bool = False) -> Iterator[tuple[str, bool, int]]:
    """(imported polyseme module or name, whether inside a function or for type checkers only, line)."""
    package = module.split(".") if is_folder else module.split(".")[:-1]
    tree = ast.parse(text)
    inside = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            # `from polyseme import text` names a module, `from polyseme.text import x` may name anything in it.
            names = [f"{stem}.{alias.name}" for alias in node.names] if stem == PACKAGE else [stem]
        elif is_import_call(node):
            names = [node.args[0].value]
        else:
            continue
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield name, id(node) in inside, node.lineno


def is_import_call(node: ast.AST) -> bool:
    """``import_module("polyseme.…")`` and ``__import__("polyseme.…")`` are imports too."""
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("import_module", "__import__") and isinstance(node.args[0].value, str)


def wrong_imports(module: str, text: str, *, is_folder: bool = False) -> list[str]:
    wrong = []
    for name, in_function, line in imports_of(module, text, is_folder=is_folder):
        public = name.split(".")[1] if "." in name else ""
        if public in ("", "__version__"):
            continue  # the package itself: its version, nothing of a layer
        theirs = layer_of(HOMES.get(public, name))  # `from polyseme import Elmo` is an import of its home
        mine = layer_of(module)
        left = PLACE[theirs] < PLACE[mine] or theirs == mine
        if not left and not (in_function and (module, theirs) in EXCEPTIONS):
            wrong.append(f"{module}:{line} imports {name}, which stands right of {mine}")
    return wrong


@pytest.mark.parametrize("module", [name for name in MODULES if name != PACKAGE])
def test_imports_point_left(module: str) -> None:
    assert layer_of(module) in PLACE, f"{module} has no place in LAYERS: give it one"
    path = MODULES[module]
    text = path.read_text(encoding="utf-8")
    assert wrong_imports(module, text, is_folder=path.name == "__init__.py") == []


def test_the_package_itself_imports_nothing_of_the_layers() -> None:
    """Its public names are loaded on first use, by ``lazy``; type checkers see them under TYPE_CHECKING."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in top]
    assert [name for name in modules if (name or "").startswith(PACKAGE)] == ["polyseme.lazy"]


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("polyseme.formats.x", "from polyseme.engine import plan", True),
        ("polyseme.formats.x", "def f():\n    import polyseme.elmo", True),
        ("polyseme.formats.x", "if TYPE_CHECKING:\n    from polyseme.elmo import Elmo", True),
        ("polyseme.formats.x", "from ..engine.plan import y", True),
        ("polyseme.formats.x", "from .detect import load", False),
        ("polyseme.formats.x", "from polyseme import engine", True),
        ("polyseme.formats.x", "from polyseme import Elmo", True),
        ("polyseme.cli.x", "from polyseme import Elmo", False),
        ("polyseme.formats.x", "from polyseme import __version__", False),
        ("polyseme.formats.x", "from polyseme.text import characters, indexing", False),
        ("polyseme.formats.x", "import_module('polyseme.cli.app')", True),
        ("polyseme.formats.x", "import torch, numpy", False),
        ("polyseme.embed.x", "from polyseme.lm import y", True),
        ("polyseme.elmo", "def f():\n    from polyseme.lm import y", False),
        ("polyseme.elmo", "if TYPE_CHECKING:\n    from polyseme.lm import y", False),
        ("polyseme.elmo", "if TYPE_CHECKING:\n    from polyseme.pretrain import y", True),
        ("polyseme.elmo", "from polyseme.lm import y", True),
        ("polyseme.elmo", "def f():\n    from polyseme.pretrain import y", True),
        ("polyseme.text.x", "from polyseme.errors import InputError", False),
        ("polyseme.errors", "from polyseme.text import lines", True),
    ],
)
def test_this_test_sees_wrong_imports(module: str, text: str, found: bool) -> None:
    assert bool(wrong_imports(module, text)) == found


#: Every task has its folder with these files. The engine's encoder is the network's once more, on purpose.
PARALLEL_FILES = {"data", "network", "metrics", "task", "token_encoder"}
PARALLEL_CLASSES = {"TokenEncoder", "CharacterCNN", "Direction"}


#: Its files and classes have the names of the packages and classes that they stand for.
OTHERS_NAMES = SOURCE / "compat"
OURS = [path for path in MODULES.values() if OTHERS_NAMES not in path.parents]


def test_a_file_name_occurs_once() -> None:
    """So that people who search for a word find one place."""
    names = Counter(path.stem for path in OURS if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > 1} == PARALLEL_FILES


def test_a_class_name_occurs_once() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in OURS]
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == PARALLEL_CLASSES


#: What ``python -c "import x"`` must not load: torch takes seconds.
LIGHT = (
    "polyseme",
    *(f"polyseme.{name}" for name in ("errors", "settings", "jobs", "text", "bilm_config", "kernel", "cli")),
)
HEAVY = ("torch", "h5py", "pyarrow", "ray", "matplotlib", "tensorboard")


def loaded_by(modules: list[str]) -> set[str]:
    """The top-level packages that a new interpreter has after importing these modules."""
    script = "import importlib, json, sys\n" + "".join(f"importlib.import_module({name!r})\n" for name in modules)
    script += "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("root", LIGHT)
def test_light_modules_do_not_import_torch(root: str) -> None:
    modules = [name for name in MODULES if name == root or (root != PACKAGE and name.startswith(root + "."))]
    assert modules
    assert loaded_by(modules).isdisjoint(HEAVY)


#: What runs on a machine without torch.
WITHOUT_TORCH = ("formats", "engine", "elmo", "embed", "lm", "index", "senses", "demo", "serve", "cli")

#: Of the packages that polyseme stands in for, those that take and give arrays.
COMPAT_WITHOUT_TORCH = ("allennlp", "elmo_embedder", "simple_elmo", "elmoformanylangs", "bilm", "tensorflow_hub")


def test_what_a_cpu_needs_does_not_import_torch() -> None:
    left_out = ("polyseme.embed.ray", "polyseme.__main__")  # Ray brings whatever it likes; the other one runs
    modules = [name for name in MODULES if name != PACKAGE and layer_of(name) in WITHOUT_TORCH and name not in left_out]
    modules += [f"polyseme.compat.{name}" for name in COMPAT_WITHOUT_TORCH]
    assert len(modules) > 100
    assert loaded_by(modules).isdisjoint({"torch"})


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_is_there(path: Path) -> None:
    """They run rarely, so a name that has moved would be noticed late."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (module := node.module or "").startswith(PACKAGE):
            there = set(dir(import_module(module))) | {name.rpartition(".")[2] for name in MODULES if module in name}
        elif isinstance(node, ast.ImportFrom) and (beside := BENCHMARKS / f"{node.module}.py").exists():
            there = top_level_names(beside)
        else:
            continue
        assert {alias.name for alias in node.names} <= there, f"line {node.lineno}"


def top_level_names(path: Path) -> set[str]:
    """What a module defines, without running it: it may need packages that are not installed."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            continue  # a name is imported from where it lives
        else:
            found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return found


def test_help_does_not_import_torch() -> None:
    script = (
        "import sys\nfrom polyseme.cli.app import main\nsys.argv = ['polyseme', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code in (0, None), end.code\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "pretrain" in done.stdout.rpartition("\n\n")[0]
    assert set(done.stdout.splitlines()[-1].split()).isdisjoint(HEAVY)


def test_the_public_names_are_all_there() -> None:
    """Each can be had, each on its own, and ``dir`` lists them."""
    assert set(polyseme.__all__) <= set(dir(polyseme))
    for name in polyseme.__all__:
        assert getattr(polyseme, name) is not None
    with pytest.raises(AttributeError, match="module 'polyseme' has no attribute 'Elmos'"):
        polyseme.Elmos  # noqa: B018
