"""`python -m tests.house [CHECKOUT]`: how large and how plain a tree is, as one JSON object.

Application code is what stands in the four apps without migrations. The files that a way reaches
are those in which a function ran, traced in a fresh process on the demo's data.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

APPS = ("annotation", "judging", "benchmark", "sensejudge_site")
_BUILT_IN = {"Exception", "ValueError", "RuntimeError", "OSError", "LookupError"}
_OTHERS = {"ValidationError", "APIException"}
_WAYS = ("answer", "distil", "evaluate_satisfaction")


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the application."""

    path: Path
    name: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """All of the tree, level by level."""

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]


def modules(root: Path = ROOT) -> list[Module]:
    """The application's files, in order of their paths."""
    found = []
    for path in sorted(path for app in APPS for path in (root / app).rglob("*.py")):
        if "migrations" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(text)
        found.append(Module(path, name, text, tree, tuple(ast.walk(tree))))
    return found


def lines_a_file(code: list[Module]) -> float:
    """The mean, over files that hold a line."""
    full = [module.lines for module in code if module.lines]
    return sum(full) / len(full)


def dataclasses(code: list[Module]) -> int:
    """How many classes are decorated as one."""
    return sum(
        "dataclass" in ast.unparse(decorator)
        for module in code
        for node in module.classes
        for decorator in node.decorator_list
    )


def exception_classes(code: list[Module]) -> list[str]:
    """All classes that are raised, by name."""
    bases = {
        node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for module in code
        for node in module.classes
    }
    known = _BUILT_IN | _OTHERS
    while more := {name for name, of in bases.items() if known.intersection(of)} - known:
        known |= more
    return sorted(known - _BUILT_IN - _OTHERS)


def double_names(code: list[Module]) -> list[str]:
    """Public classes that share their name with another one; a command is always a Command."""
    names = Counter(
        node.name
        for module in code
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1 and name != "Command")


def one_importer_files(code: list[Module]) -> list[str]:
    """Files that exactly one other file imports."""
    names = {module.name for module in code}
    importers: Counter[str] = Counter()
    for module in code:
        importers.update(set(_imports(module, names)))
    return sorted(name for name, count in importers.items() if count == 1)


def _imports(module: Module, names: set[str]) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in names:
                    yield full
                elif node.module in names:
                    yield node.module


def longest_template_line(root: Path = ROOT) -> int:
    """In characters."""
    return max(
        len(line)
        for path in (root / "templates").rglob("*.html")
        for line in path.read_text(encoding="utf-8").splitlines()
    )


def docstring_share(code: list[Module]) -> float:
    """Of functions."""
    functions = [
        node
        for module in code
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return sum(ast.get_docstring(node) is not None for node in functions) / len(functions)


def comment_share(code: list[Module]) -> float:
    """Of lines: those that are nothing but a comment."""
    comments = sum(
        token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
        for module in code
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline)
    )
    return comments / sum(module.lines for module in code)


def figures(root: Path = ROOT) -> dict[str, float]:
    """All that is read off the files."""
    code = modules(root)
    lines = sum(module.lines for module in code)
    return {
        "files": len(code),
        "lines": lines,
        "lines_a_file": round(lines_a_file(code), 1),
        "dataclasses": dataclasses(code),
        "dataclasses_in_1000_lines": round(1000 * dataclasses(code) / lines, 2),
        "exception_classes": len(exception_classes(code)),
        "double_class_names": len(double_names(code)),
        "one_importer_files": len(one_importer_files(code)),
        "docstring_share": round(docstring_share(code), 3),
        "comment_share": round(comment_share(code), 4),
        "longest_template_line": longest_template_line(root),
    }


def files_reached(root: Path) -> dict[str, int]:
    """How many files an answer, a distillation and an evaluation pass through, on demo data."""
    with tempfile.TemporaryDirectory(prefix="sensejudge-house-") as folder:
        env = {
            **os.environ,
            "SENSEJUDGE_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
        }
        for command in (
            ["migrate", "--verbosity=0"],
            ["collectstatic", "--no-input", "--verbosity=0"],
            ["demo"],
        ):
            _run([sys.executable, "manage.py", *command], root, env)
        return {way: int(_run([sys.executable, "-c", _TRACER, way], root, env)) for way in _WAYS}


def _run(command: list[str], root: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


_TRACER = """
import contextlib, io, os, re, sys, threading
import django
django.setup()
from django.core.management import call_command
from django.test import Client

root = os.getcwd() + os.sep
apps = ("annotation", "judging", "benchmark", "sensejudge_site")
reached = set()

def look(frame, event, _):
    path = frame.f_code.co_filename
    if event == "call" and frame.f_code.co_name != "<module>" and path.startswith(root):
        if path[len(root):].split(os.sep)[0] in apps:
            reached.add(path)

def traced(work):
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)

way = sys.argv[1]
if way == "answer":
    client = Client(HTTP_HOST="127.0.0.1", REMOTE_ADDR="127.0.0.1")
    from django.contrib.auth import get_user_model
    client.force_login(get_user_model().objects.get(username="demo-annotator"))
    def shown():
        page = client.get("/studies/demo-which-answer-is-better/next/", follow=True)
        text = page.content.decode()
        forms = re.findall(r"<form[^>]*method=.post.[^>]*>.*?</form>", text, re.S)
        answers = [form for form in forms if 'name="submission"' in form and "skip" not in form]
        form = (answers or forms[-1:])[0]
        action = re.search(r'action="([^"]+)"', form)
        address = action[1] if action else page.request["PATH_INFO"]
        inputs = re.findall(r"<input[^>]*>", form)
        fields = [dict(re.findall(r'(name|value)="([^"]*)"', each)) for each in inputs]
        return address, {each["name"]: each.get("value", "") for each in fields if "name" in each}
    address, fields = shown()
    while "/items/" not in address:  # guidelines to read come first
        client.post(address, fields)
        address, fields = shown()
    fields["answer"] = "FIRST"
    said = []
    traced(lambda: said.append(client.post(address, fields).status_code))
    assert said == [302], said
elif way == "distil":
    traced(lambda: call_command("distil", "--dataset", "demo", "--seed", "7"))
else:
    slugs = ["--train", "demo", "--test", "demo", "--evaluators", "learned", "--bootstrap", "0"]
    traced(lambda: call_command("evaluate_satisfaction", *slugs))
print(len(reached))
"""


def main(arguments: list[str]) -> None:
    """Print the figures of a checkout."""
    parser = ArgumentParser(prog="house", description=__doc__)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--reach", action="store_true", help="trace the three ways too; a minute")
    options = parser.parse_args(arguments)
    root = options.checkout.resolve()
    told: dict[str, float] = figures(root)
    if options.reach:
        told |= {f"files_reached_by_{way}": n for way, n in files_reached(root).items()}
    sys.stdout.write(f"{json.dumps(told, indent=1)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
