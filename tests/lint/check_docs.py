#!/usr/bin/env python3
"""What the pages show is what there is: links lead somewhere, commands use options that the tools know, code is the sample's.

    check_docs.py BIN_DIR
"""
import re
import subprocess
import sys
from pathlib import Path

from source_tree import ROOT, all_files, finish, text_of

TOOLS = ("engine-build", "engine-run", "engine-check", "engine-inspect")


def blocks(text, language=""):
    return re.findall(r"^```" + language + r"\n(.*?)^```", text, re.S | re.M)


def main():
    bin_dir, problems = Path(sys.argv[1]).resolve(), []
    options = {}
    for tool in TOOLS:
        shown = subprocess.run([bin_dir / tool, "--help"], capture_output=True, text=True, check=True).stdout
        options[tool] = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shown))
    pages = [f for f in all_files() if f.endswith(".md")]
    for page in pages:
        text = text_of(page)
        for link in re.findall(r"\]\(([^)#]+)", text):
            if "://" not in link and not ((ROOT / page).parent / link).exists():
                problems.append(f"{page}: leads nowhere: '{link}'")
        for block in blocks(text):
            for command in re.split(r"[\n;|]", block.replace("\\\n", " ")):
                words = command.split()
                tool = next((w.rsplit("/", 1)[-1] for w in words[:1] if w.rsplit("/", 1)[-1] in TOOLS), None)
                for word in words[1:] if tool else []:
                    if re.match(r"--?[a-z]", word) and word.split("=")[0] not in options[tool]:
                        problems.append(f"{page}: {tool} has no option '{word}'")
                    if word.startswith(("models/", "samples/", "tests/")) and not (ROOT / word).exists():
                        problems.append(f"{page}: names what is not there: '{word}'")
        every = set().union(*options.values(), {"--help", "--preset", "--build", "--version", "--target", "--install"})
        if page in ("README.md", "docs/quantising.md", "docs/report.md", "docs/embedding.md"):
            for option in re.findall(r"`(--[a-z][\w-]*)", text):
                if option not in every:
                    problems.append(f"{page}: no tool has '{option}'")
    if text_of("samples/hello_engine.cpp") not in blocks(text_of("docs/embedding.md"), "cpp"):
        problems.append("docs/embedding.md: does not show samples/hello_engine.cpp as it is")
    finish("check_docs", problems)


main()
