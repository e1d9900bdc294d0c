"""From the quantised weights of a GGUF file to a folder that transformers loads."""

from pathlib import Path
from typing import Any

import gguf  # noqa: F401 - transformers imports it late and then says little
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from langchain_memview.models.bars import bars_on_terminals


def convert_gguf(folder: Path, file: str, target: Path) -> None:
    """Write tokenizer and weights, in bfloat16, to a new folder.

    Args:
        folder: Where the GGUF file is.
        file: Its name.
        target: The new folder.
    """
    with bars_on_terminals():
        _convert(folder, file, target)


def _convert(folder: Path, file: str, target: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=torch.float32
    )
    config = loaded.config
    # transformers refuses to save what was loaded from quantised weights, so the plain
    # numbers go into a model that never was.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = type(loaded)(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    plain.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)
