"""The wheels that an installation is measured with: the twelve of a release, any in a folder, or some made of what is installed."""

import base64
import concurrent.futures
import csv
import hashlib
import os
import re
import sys
import zipfile

NAMES = """nvidia_cublas_cu12-12.4.5.8 nvidia_cuda_cupti_cu12-12.4.127 nvidia_cuda_nvrtc_cu12-12.4.127
nvidia_cuda_runtime_cu12-12.4.127 nvidia_cudnn_cu12-9.1.0.70 nvidia_cufft_cu12-11.2.1.3 nvidia_curand_cu12-10.3.5.147
nvidia_cusolver_cu12-11.6.1.9 nvidia_cusparse_cu12-12.3.1.170 nvidia_nccl_cu12-2.21.5 nvidia_nvjitlink_cu12-12.4.127
nvidia_nvtx_cu12-12.4.127""".split()


def twelve(folder):
    """Returns the files of the twelve wheels of CUDA 12.4.1 (runtime) and cuDNN 9.1.0."""
    files = os.listdir(folder)
    found = []
    for name in NAMES:
        match = [file for file in files if file.startswith(name + "-") and file.endswith("x86_64.whl")]
        if not match:
            sys.exit(f"{folder} has no {name}: pip download --no-deps -d {folder} {name.replace('-', '==').replace('_', '-')}")
        found.append(match[0])
    return found


def every(folder):
    """Returns the files of all wheels in a folder that carry a component of cuenv's, one a distribution."""
    with open(os.path.join(os.path.dirname(__file__), "../manifests/components.toml")) as file:
        known = set(re.findall(r'^distribution = "(.*)"', file.read(), re.M))
    found = {}
    for file in sorted(os.listdir(folder)):
        if file.endswith(".whl") and file.split("-")[0].replace("_", "-").lower() in known:
            found[file.split("-")[0]] = file
    if not found:
        sys.exit(f"{folder} has no wheel of NVIDIA; --make SITE-PACKAGES makes some")
    return sorted(found.values())


def make(site, folder):
    """Packs each distribution of NVIDIA that is installed in a `site-packages` into a wheel again, unless it is there."""
    os.makedirs(folder, exist_ok=True)
    infos = [name for name in sorted(os.listdir(site)) if name.startswith("nvidia_") and name.endswith(".dist-info")]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for file in pool.map(pack, [site] * len(infos), infos, [folder] * len(infos)):
            print(f"  {file or 'a distribution without files is left out'}", file=sys.stderr, flush=True)


def pack(site, info, folder):
    with open(os.path.join(site, info, "WHEEL")) as file:
        tags = [line.split(":")[1].strip().split("-") for line in file if line.startswith("Tag:")]
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags))
    name = f"{info.removesuffix('.dist-info')}-{tag}.whl"
    into = os.path.join(folder, name)
    if os.path.exists(into):
        return name
    with open(os.path.join(site, info, "RECORD"), newline="") as file:
        paths = [row[0] for row in csv.reader(file)]
    # What an installer added is not the wheel's.
    own = {f"{info}/{name}" for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")}
    paths = [path for path in paths if path not in own and not path.startswith(("..", "/")) and "__pycache__" not in path]
    if not any(os.path.getsize(os.path.join(site, path)) > 1 << 20 for path in paths):
        return None
    record = ""
    with zipfile.ZipFile(into + ".part", "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for path in paths:
            with open(os.path.join(site, path), "rb") as file:
                sha = base64.urlsafe_b64encode(hashlib.file_digest(file, "sha256").digest()).decode().rstrip("=")
            quoted = f'"{path}"' if "," in path else path
            record += f"{quoted},sha256={sha},{os.path.getsize(os.path.join(site, path))}\n"
            wheel.write(os.path.join(site, path), path)
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    os.replace(into + ".part", into)
    return name
