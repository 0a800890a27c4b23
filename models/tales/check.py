"""Compares an exported GGUF file with its checkpoint: held-out loss and logits of both.

    python3 check.py --model tales --checkpoint build/tales.pt --gguf tales.gguf \
        --corpus build/corpus.jsonl
"""
import argparse
import json
import pathlib

import numpy as np
import torch

from model import CONFIGS, Llama
from sample import Model

DOCUMENTS = 20  # from the end of the corpus, all held out


def log_softmax(logits):
    """Logarithms of the probabilities of each row."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def main():
    """Print loss of both and how far they are apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True)
    parser.add_argument("--gguf", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    args = parser.parse_args()
    trained = Llama(CONFIGS[args.model])
    trained.load_state_dict(torch.load(args.checkpoint)["model"])
    exported = Model(args.gguf)
    tokenizer = exported.tokenizer()
    assert tokenizer.tokens == exported.meta["tokenizer.ggml.tokens"]
    losses, divergence, agreement = [[], []], [], []
    for line in args.corpus.read_text().splitlines()[-DOCUMENTS:]:
        ids = tokenizer.encode_document(json.loads(line))[: exported.context]
        exported.reset()
        theirs = log_softmax(np.stack([exported.step(token) for token in ids[:-1]]))
        with torch.no_grad():
            hidden = trained(torch.tensor([ids[:-1]]))
            ours = log_softmax(trained.logits(hidden)[0].numpy())
        for loss, odds in zip(losses, (ours, theirs)):
            loss += list(-odds[np.arange(len(ids) - 1), ids[1:]])
        divergence += list((np.exp(ours) * (ours - theirs)).sum(-1))
        agreement += list(ours.argmax(-1) == theirs.argmax(-1))
    print(f"checkpoint loss {np.mean(losses[0]):.4f}, GGUF loss {np.mean(losses[1]):.4f}, "
          f"mean divergence {np.mean(divergence):.2e}, same best token {np.mean(agreement):.2%}")


if __name__ == "__main__":
    main()
