#!/usr/bin/env python3
"""docs/map.md against the disk: every file is named, by itself or with its group, and nothing that is not there.

In the map's code block a line is either a room, `path/  what it is`, or files of the room above it, indented:
`names  what they are`. Names may hold `{h,cpp}` and `*`; a `*` needs a stem before it or an ending behind it.

    check_map.py         exit status 1 if map and disk differ
"""
import fnmatch
import re

from source_tree import all_files, finish, text_of


def expand(pattern):
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [name for part in match[1].split(",") for name in expand(pattern[: match.start()] + part + pattern[match.end():])]


def lazy(pattern):
    base = pattern.rsplit("/", 1)[-1]
    return "*" in base and not re.match(r"\w{3,}.*\*", base) and not re.search(r"\*\w*\.\w+$", base)


def main():
    problems, rooms, patterns = [], set(), []
    block = re.search(r"```\n(.*?)```", text_of("docs/map.md"), re.S)
    room = None
    for number, line in enumerate(block[1].rstrip().split("\n") if block else [], 1):
        if not line.strip():
            continue
        match = re.match(r"( *)(\S+(?: \S+)*?)(?:  +(\S.*))?$", line)
        indent, names, what = match[1], match[2].split(" "), match[3]
        if not what:
            problems.append(f"docs/map.md: line {number} of the map says nothing about it: got '{line.strip()}'")
        if not indent and names[0].endswith("/"):
            room = "" if names[0] == "./" else names[0]
            if room in rooms:
                problems.append(f"docs/map.md: room named twice: got '{room}'")
            rooms.add(room)
            continue
        for name in (full for part in names for full in expand(part)):
            if lazy(name):
                problems.append(f"docs/map.md: '{name}' in '{room}' is too wide; name a stem or an ending")
            patterns.append((room or "") + name)
    files = all_files()
    named = set()
    for pattern in patterns:
        hits = [f for f in files if f.count("/") == pattern.count("/") and fnmatch.fnmatchcase(f, pattern)]
        if not hits:
            problems.append(f"docs/map.md: names what is not there: '{pattern}'")
        named.update(hits)
    for file in files:
        if file not in named:
            problems.append(f"docs/map.md: does not name '{file}'; add a line under its room")
    for folder in sorted({f.rsplit("/", 1)[0] + "/" for f in files if "/" in f}):
        if folder not in rooms and not any(p.startswith(folder) for p in patterns):
            problems.append(f"docs/map.md: does not name the room '{folder}'")
    for folder in sorted(rooms - {""}):
        if not any(f.startswith(folder) for f in files):
            problems.append(f"docs/map.md: names a room that is not there: '{folder}'")
    finish("check_map", problems)


main()
