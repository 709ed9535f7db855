"""polyseme info: what a model is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polyseme.cli.options import ModelArgument, OptionsFile


def info(
    model: ModelArgument,
    options_file: OptionsFile = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Say what a model is: its format, shape, parameters, vocabulary, languages and licence, and check its weights.

    Examples:

      polyseme info elmo_2x4096_512_2048cnn_2xhighway_weights.hdf5

      polyseme info model.tar.gz --json
    """
    import json as json_module

    from polyseme.errors import FormatError
    from polyseme.formats.describe import describe
    from polyseme.formats.detect import load

    facts = describe(load(model, options=options_file))
    if json:
        typer.echo(json_module.dumps(facts, indent=2, ensure_ascii=False))
    else:
        typer.echo(_as_text(facts))
    if wrong := [check for check, ok in facts["checks"].items() if not ok]:
        raise FormatError(f"{model}: this should be true and is not: {'; '.join(wrong)}")


def _as_text(facts: dict[str, Any]) -> str:
    lines = [(key.replace("_", " "), _value(value)) for key, value in facts.items() if key != "checks"]
    lines += [("check", f"{check}: {'yes' if ok else 'NO'}") for check, ok in facts["checks"].items()]
    shown = [(key, value) for key, value in lines if value]
    width = max(len(key) for key, _ in shown)
    return "\n".join(f"{key:<{width}}  {value}" for key, value in shown)


def _value(value: Any) -> str:
    """A value for people; what is not there is an empty string, which is not shown."""
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        sizes = all(isinstance(item, int) for item in value)
        return (" × " if sizes else "; " if isinstance(value[0], dict) else ", ").join(map(_value, value))
    return str(value)
