"""polyseme info: what a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.options import OptionalModel, OptionsFile

if TYPE_CHECKING:
    from polyseme.formats.model import StoredModel


def info(
    model: OptionalModel = None,
    options_file: OptionsFile = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run only the checks, including slower ones: digests, vectors of a text.")
    ] = False,
    engine: Annotated[
        bool,
        typer.Option("--engine", help="Show what computes on this machine instead: kernel, threads."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a model's format, shape, parameters, vocabulary, languages and licence, and check its weights.

    Examples:

      polyseme info model.tar.gz --json

      polyseme info en --check
    """
    from polyseme.errors import FormatError
    from polyseme.formats.card import checks, describe
    from polyseme.formats.detect import load

    if engine:
        from polyseme.engine.engine import describe_engine

        _show(describe_engine(), json)
        return
    if model is None:
        raise typer.BadParameter("name a model, or ask for --engine", param_hint="MODEL")
    stored = load(model, options=options_file)
    if check:
        from polyseme.elmo import check_vectors

        found = {**dict(checks(stored)), "the vectors of a text are finite": check_vectors(stored)}
        facts: dict[str, Any] = {"name": stored.card.get("name"), "digests": _digests(stored), "checks": found}
    else:
        facts = describe(stored)
    _show(facts, json)
    if wrong := [check for check, ok in facts["checks"].items() if not ok]:
        raise FormatError(f"{model}: this should be true but is not: {'; '.join(wrong)}")


def _show(facts: dict[str, Any], json: bool) -> None:
    import json as json_module

    typer.echo(json_module.dumps(facts, indent=2, ensure_ascii=False) if json else _as_text(facts))


def _digests(stored: StoredModel) -> str:
    """What the loader has checked, or that there was nothing to check against."""
    if stored.digests:
        return f"{stored.digests} digests of tensors and lists, all as they were saved"
    return "none; convert the model to a native folder, which has them"


def _as_text(facts: dict[str, Any]) -> str:
    lines = [(key.replace("_", " "), _value(value)) for key, value in facts.items() if key != "checks"]
    lines += [("check", f"{check}: {'yes' if ok else 'NO'}") for check, ok in facts.get("checks", {}).items()]
    shown = [(key, value) for key, value in lines if value]
    width = max(len(key) for key, _ in shown)
    return "\n".join(f"{key:<{width}}  {value}" for key, value in shown)


def _value(value: Any) -> str:
    """A value for people; a missing one is an empty string, which is not shown."""
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
