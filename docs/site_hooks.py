"""What the site has beside docs/: pages that the program writes itself, the pages of the root folder, and llms.txt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

from harness.cli.app import COMMANDS, app
from harness.reports.explain import explanations

ROOT = Path(__file__).resolve().parents[1]
OF_THE_ROOT = {name: name for name in ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")} | {"README.md": "index.md"}
PICTURES = (".svg", ".png", ".html")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+://|#)([^)#\s]+)(#[^)\s]*)?\)")
BOUNDS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
KINDS = {
    "verdict": "Verdicts",
    "check": "Checks that accuse a solution of cheating",
    "timing": "Words of a timing",
    "simulator": "What the simulator finds",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that aren't in docs/."""
    for name, write in (("commands.md", commands), ("settings.md", settings), ("verdicts.md", verdicts)):
        files.append(File.generated(config, name, content="\n".join(write()) + "\n"))
    for name, page in OF_THE_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    for path in (path for path in (ROOT / "results").iterdir() if path.suffix in PICTURES):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to where the site has their targets; what it hasn't is shown as text, or linked in `repo_url`."""
    folder = ROOT if page.file.src_uri in OF_THE_ROOT.values() else ROOT / "docs"
    pages = {ROOT / name: name_on_site for name, name_on_site in OF_THE_ROOT.items()}

    def linked(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups(default="")
        path = (folder / target).resolve()
        if path in pages:
            return f"{picture}[{text}]({pages[path]}{anchor})"
        if path.is_relative_to(ROOT / "docs") and (path.is_file() or files.get_file_from_path(target)):
            return f"{picture}[{text}]({path.relative_to(ROOT / 'docs')}{anchor})"
        if path.suffix in PICTURES:
            return f"{picture}[{text}]({path.relative_to(ROOT)})"
        if not config.repo_url or not path.is_relative_to(ROOT):
            return text
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path.relative_to(ROOT)}{anchor})"

    return LINK.sub(linked, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, an index for language models (https://llmstxt.org)."""
    Path(config.site_dir, "llms.txt").write_text("\n".join(_NAV) + "\n", encoding="utf-8")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Remember the sections for llms.txt, with the question that each page answers."""
    _NAV[:] = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for item in nav.items:
        listed = item.children if isinstance(item, Section) else [item]
        _NAV.extend(["", f"## {item.title}", ""] if isinstance(item, Section) else [])
        _NAV.extend(f"- [{one.title}]({one.file.dest_uri}){_question(one)}" for one in listed if isinstance(one, Page))
    return nav


_NAV: list[str] = []


def commands() -> Iterator[str]:
    """Every command with its options, as `--help` prints them."""
    yield "# Commands and options"
    yield "\n*Reference: every command, as `harness COMMAND --help` prints it.*"
    by_name = _subcommands(typer.main.get_command(app))
    for title, names in COMMANDS.items():
        yield f"\n## {title}"
        for name in names:
            yield from _help(by_name[name], f"harness {name}")


def _help(command: Any, name: str) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=90)
    yield f"\n### {name}\n\n```text\n{command.get_help(context)}\n```"
    for below, one in _subcommands(command).items():
        yield from _help(one, f"{name} {below}")


def _subcommands(command: Any) -> dict[str, Any]:
    """Typer's newest versions have a click of their own, so no class of click's is named here."""
    return getattr(command, "commands", {})


def settings() -> Iterator[str]:
    """Every key of the YAML files, from the schemas that editors use."""
    yield "# Keys of YAML files"
    yield "\n*Reference: every key of the files that a workspace holds.*"
    yield "`harness config schema` writes the same as JSON schemas, so that an editor completes and checks them."
    for path in sorted((ROOT / "docs/schemas").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        yield f"\n## {path.name.partition('.')[0]}\n\n{_in_cell(schema.get('description', ''))}\n"
        yield "| key | value | default | meaning |\n|---|---|---|---|"
        yield from _keys(schema, schema, "")


def _keys(schema: dict[str, Any], root: dict[str, Any], above: str) -> Iterator[str]:
    for name, one in schema.get("properties", {}).items():
        inner = _resolved(one, root)
        if "properties" in inner:
            yield from _keys(inner, root, f"{above}{name}.")
        elif name != "$schema":
            default = "" if one.get("default") is None else f"`{json.dumps(one['default'])}`"
            meaning = _in_cell(one.get("description") or inner.get("description", ""))
            yield f"| `{above}{name}` | {_in_cell(_value(inner, root))} | {_in_cell(default)} | {meaning} |"


def _resolved(one: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    target = one.get("$ref")
    found = root["$defs"][target.rpartition("/")[2]] if target else one
    return found if found is one else _resolved(found, root)


def _value(one: dict[str, Any], root: dict[str, Any]) -> str:
    """What may stand there, in words."""
    one = _resolved(one, root)
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(_value(each, root) for each in one["anyOf"] if each.get("type") != "null"))
    if "enum" in one or "const" in one:
        return ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]))
    kind = {"object": "keys and values", "array": "a list"}.get(one.get("type", ""), str(one.get("type", "anything")))
    words = [f"{word} {one[key]:g}" for key, word in BOUNDS.items() if key in one]
    return ", ".join([f"{kind} of {_value(one['items'], root)}" if one.get("items") else kind, *words])


def _in_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def verdicts() -> Iterator[str]:
    """What `harness explain` says of each word."""
    yield "# Verdicts and checks"
    yield "\n*Reference: what each word of a report means, its causes and what to do, as `harness explain` says it.*"
    for kind, words in explanations().items():
        yield f"\n## {KINDS[kind]}"
        for name, one in words.items():
            yield f"\n### {name}\n\n{one.meaning}.\n"
            for title, text in (
                ("Seen", one.observed),
                ("Causes", one.causes),
                ("Advice", one.avoid),
                ("Record", one.look),
            ):
                yield f"- *{title}:* {text}."


def _question(page: Page) -> str:
    """What a page says of itself in its first line."""
    text = page.file.content_string
    found = re.search(r"^\*\w[\w-]*: (.+?)\*", text, re.MULTILINE | re.DOTALL)
    return f": {' '.join(found[1].split())}" if found else ""
