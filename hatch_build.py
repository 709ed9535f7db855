"""The package's build hook: compile the kernel, if there is a compiler, and say for which platform the wheel is.

The kernel uses nothing of Python's, so that there is one wheel for each platform, whatever the version of Python.
Without a compiler the wheel is a pure one: polyseme then computes with numpy alone. POLYSEME_REQUIRE_KERNEL=1 makes
that an error, for those who publish wheels.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/polyseme/kernel")


class KernelBuildHook(BuildHookInterface[Any]):
    """Called by hatchling for wheels, editable ones too."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        compile = self._compile_module()
        compiler, reason = compile.find_compiler(), "no C compiler was found"
        if compiler is not None:
            try:
                libraries = compile.build(compiler)
            except subprocess.CalledProcessError:
                reason = f"{compiler[0]} could not compile the kernel"
            else:
                build_data["artifacts"] += [(FOLDER / library.name).as_posix() for library in libraries]
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{compile.platform_tag()}"
                return
        if os.environ.get("POLYSEME_REQUIRE_KERNEL") == "1":
            raise RuntimeError(reason)
        self.app.display_warning(f"{reason}: polyseme will compute with numpy alone, which is slower")

    def _compile_module(self) -> Any:
        """compile.py, which must not import polyseme: it is not installed yet."""
        place = Path(self.root) / FOLDER / "compile.py"
        spec = importlib.util.spec_from_file_location("polyseme_kernel_compile", place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
