#!/usr/bin/env python3
"""The parts of a release that are data: licences, SBOM, wheel, Debian package. Standard library only.

Everything is a function of its inputs and SOURCE_DATE_EPOCH: the same inputs give the same bytes.
"""

import argparse
import base64
import csv
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import uuid
import zipfile

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))
SUMMARY = "CUDA and cuDNN toolchains per project, without root"
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# Every dependency must be usable under one of these.
ALLOWED = {
    "MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD",
    "Unicode-3.0", "Unlicense", "BSL-1.0", "CC0-1.0", "CDLA-Permissive-2.0", "MIT-0",
}
MUSL = """musl libc (statically linked into cuenv-shim), MIT

Copyright (c) 2005-2020 Rich Felker, et al.
The text of the MIT licence is in LICENSE-MIT; the copyright line above stands in place of the one there.
"""


def cargo_metadata(target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def linked_packages():
    """The packages that are linked into the programs, on any target, and who needs whom."""
    packages, edges = {}, {}
    for target in TARGETS:
        metadata = cargo_metadata(target)
        by_id = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        todo = list(metadata["workspace_members"])
        seen = set()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            packages[at] = by_id[at]
            needs = [
                dep["pkg"] for dep in nodes[at]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])
            ]
            edges.setdefault(at, set()).update(needs)
            todo += needs
    return packages, edges, set(metadata["workspace_members"])


def permitted(expression):
    """Whether an SPDX expression offers a choice that is on the list (`/` is cargo's old spelling of OR)."""
    expression = expression.replace("/", " OR ")
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)

    def parse_or():
        value = parse_and()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = parse_and() or value
        return value

    def parse_and():
        value = parse_one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            other = parse_one()
            value = value and other
        return value

    def parse_one():
        token = tokens.pop(0)
        if token == "(":
            value = parse_or()
            tokens.pop(0)
            return value
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token += " WITH " + tokens.pop(0)
        return token in ALLOWED

    return parse_or()


def licenses(_args):
    packages, _, own = linked_packages()
    foreign = sorted((p for i, p in packages.items() if i not in own), key=lambda p: (p["name"], p["version"]))
    refused = [f'{p["name"]} {p["version"]}: {p["license"]}' for p in foreign if not permitted(p["license"] or "")]
    if refused:
        sys.exit("error: licences that are not on the list in scripts/package.py: " + "; ".join(refused))
    print("What cuenv is built from. Each text is printed once, under the packages that carry it.\n")
    for package in foreign:
        print(f'{package["name"]} {package["version"]}: {package["license"]}')
    texts = {}
    for package in foreign:
        directory = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(directory.iterdir()):
            if path.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", path.name):
                text = path.read_text("utf-8", "replace").replace("\r\n", "\n").strip()
                texts.setdefault(text, []).append(f'{package["name"]} {package["version"]}')
    for text, names in sorted(texts.items(), key=lambda item: item[1]):
        print("\n" + "-" * 100 + "\n" + ", ".join(names) + "\n\n" + text)
    print("\n" + "-" * 100 + "\n" + MUSL)


def sbom(_args):
    packages, edges, own = linked_packages()
    lock = pathlib.Path("Cargo.lock").read_text()
    sums = {}
    for block in lock.split("[[package]]")[1:]:
        field = dict(re.findall(r'^(name|version|checksum) = "(.*)"$', block, re.M))
        sums[field["name"], field["version"]] = field.get("checksum")

    def purl(package):
        return f'pkg:cargo/{package["name"]}@{package["version"]}'

    components = []
    for package in sorted(packages.values(), key=purl):
        component = {
            "type": "application" if package["id"] in own else "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
            "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
        }
        checksum = sums.get((package["name"], package["version"]))
        if checksum:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
    root = next(c for c in components if c["name"] == "cuenv-cli")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f'urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(lock.encode()).hexdigest())}',
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
            "component": root,
        },
        "components": [c for c in components if c is not root],
        "dependencies": [
            {"ref": purl(packages[at]), "dependsOn": sorted(purl(packages[need]) for need in needs)}
            for at, needs in sorted(edges.items(), key=lambda item: purl(packages[item[0]]))
        ],
    }
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()


def wheel(args):
    floor = args.glibc.replace(".", "_")
    tag = f"py3-none-manylinux_{floor}_{args.arch}"
    tags = [tag]
    if args.glibc == "2.17":
        tags.append(f"py3-none-manylinux2014_{args.arch}")
    platforms = ".".join(tag.split("-", 2)[2] for tag in tags)
    info = f"cuenv-{args.version}.dist-info"
    source = pathlib.Path(args.source)
    metadata = (
        f"Metadata-Version: 2.4\nName: cuenv\nVersion: {args.version}\nSummary: {SUMMARY}\n"
        "License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n"
        "License-File: LICENSES-dependencies.txt\nKeywords: cuda,cudnn,toolchain,gpu\n"
        "Classifier: Environment :: GPU :: NVIDIA CUDA\nClassifier: Operating System :: POSIX :: Linux\n"
        "Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n"
    ) + (source / "README.md").read_text()
    files = [
        (f"cuenv-{args.version}.data/scripts/{name}", (source / name).read_bytes(), 0o755)
        for name in ("cuenv", "cuenv-shim")
    ]
    files += [
        (f"{info}/licenses/{name}", (source / name).read_bytes(), 0o644)
        for name in ("LICENSE-APACHE", "LICENSE-MIT", "LICENSES-dependencies.txt")
    ]
    files.append((f"{info}/sboms/cuenv.cdx.json", (source / "sbom.cdx.json").read_bytes(), 0o644))
    files.append((f"{info}/METADATA", metadata.encode(), 0o644))
    head = "Wheel-Version: 1.0\nGenerator: cuenv-release\nRoot-Is-Purelib: false\n"
    files.append((f"{info}/WHEEL", (head + "".join(f"Tag: {tag}\n" for tag in tags)).encode(), 0o644))
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([f"{info}/RECORD", "", ""])
    files.append((f"{info}/RECORD", record.getvalue().encode(), 0o644))
    path = pathlib.Path(args.out) / f"cuenv-{args.version}-py3-none-{platforms}.whl"
    stamp = max(time.gmtime(EPOCH)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def deb(args):
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[args.arch]
    source, stage = pathlib.Path(args.source), pathlib.Path(args.stage)
    size = 0

    def put(path, content, mode=0o644):
        nonlocal size
        size += len(content)
        target = stage / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)

    def compressed(content):
        return gzip.compress(content, 9, mtime=0)

    for name in ("cuenv", "cuenv-shim"):
        put(f"usr/bin/{name}", (source / name).read_bytes(), 0o755)
    for page in sorted((source / "man").iterdir()):
        put(f"usr/share/man/man1/{page.name}.gz", compressed(page.read_bytes()))
    for name, place in (
        ("cuenv.bash", "bash-completion/completions/cuenv"),
        ("_cuenv", "zsh/vendor-completions/_cuenv"),
        ("cuenv.fish", "fish/vendor_completions.d/cuenv.fish"),
    ):
        put(f"usr/share/{place}", (source / "completions" / name).read_bytes())
    put("usr/share/doc/cuenv/changelog.gz", compressed((source / "CHANGELOG.md").read_bytes()))
    text = (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: cuenv\n\nFiles: *\nCopyright: 2026 The cuenv developers\nLicense: MIT or Apache-2.0\n"
        " The full text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n"
        " What cuenv is built from is listed in LICENSES-dependencies.txt.gz in this directory.\n .\n"
    ) + "".join(f" {line or '.'}\n" for line in (source / "LICENSE-MIT").read_text().splitlines())
    put("usr/share/doc/cuenv/copyright", text.encode())
    put("usr/share/doc/cuenv/LICENSES-dependencies.txt.gz", compressed((source / "LICENSES-dependencies.txt").read_bytes()))
    control = (
        f"Package: cuenv\nVersion: {args.version}\nArchitecture: {arch}\n"
        "Maintainer: The cuenv developers <developers@cuenv.invalid>\n"
        f"Installed-Size: {-(-size // 1024)}\nDepends: libc6 (>= {args.glibc})\nRecommends: ca-certificates\n"
        f"Section: utils\nPriority: optional\nDescription: {SUMMARY}\n"
        " cuenv gives every project on a Linux machine its own CUDA and cuDNN. It downloads\n"
        " NVIDIA's redistributable wheels, keeps each once, and sets the environment through\n"
        " exec shims, a shell hook, or cuenv exec.\n"
    )
    (stage / "DEBIAN").mkdir(parents=True)
    (stage / "DEBIAN/control").write_text(control)
    sums = "".join(
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(stage)}\n"
        for path in sorted(stage.rglob("*"))
        if path.is_file() and "DEBIAN" not in path.parts
    )
    (stage / "DEBIAN/md5sums").write_text(sums)
    for path in [stage, *stage.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    (stage / "DEBIAN/control").chmod(0o644)
    (stage / "DEBIAN/md5sums").chmod(0o644)
    path = pathlib.Path(args.out) / f"cuenv_{args.version}_{arch}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(stage), str(path)], check=True, stdout=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, run in (("licenses", licenses), ("sbom", sbom), ("wheel", wheel), ("deb", deb)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        if run in (wheel, deb):
            for option in ("--version", "--arch", "--glibc", "--out"):
                command.add_argument(option, required=True)
            command.add_argument("--from", dest="source", required=True)
        if run is deb:
            command.add_argument("--stage", required=True)
    args = parser.parse_args()
    args.run(args)


main()
