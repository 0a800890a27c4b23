"""Trains a tales model on the corpus.  The same arguments give the same batches in the same order.

The learning rate warms up, stays, and falls with a cosine over the last part of the steps, so that
a run that was started with more steps can be resumed from a checkpoint and end sooner.

    python3 train.py --model tales --corpus build/corpus.jsonl --tokenizer build/tokenizer.json \
        --steps 4000 --out build/tales.pt
"""
import argparse
import json
import math
import os
import pathlib
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

from model import CONFIGS, Llama
from tokenizer import END_OF_TEXT, Tokenizer

HELD_OUT = 1000  # documents at the end of the corpus
POOL = 2048  # documents sorted by length at a time
WARM_UP = 150
DECAY = 0.5  # share of the steps in which the learning rate falls


def load_corpus(path, tokenizer, context):
    """Token ids of each document, at most `context` and the final end of text."""
    cache = path.with_suffix(".tokens.npz")
    if not cache.exists():
        with path.open() as lines:
            documents = [tokenizer.encode_document(json.loads(line)) for line in lines]
        lengths = np.array([len(document) for document in documents])
        np.savez(cache, ids=np.concatenate(documents).astype(np.uint16), lengths=lengths)
    stored = np.load(cache)
    ends = stored["lengths"].cumsum()[:-1]
    return [document[:context] for document in np.split(stored["ids"].astype(np.int64), ends)]


def rows_of(documents, context, rng):
    """Join some neighbours to rows of two, so that a story after a story is seen too."""
    rows, held = [], None
    for document in documents:
        if held is not None:
            row = np.concatenate([held, document])
            rows += [row] if len(row) <= context else [held, document]
            held = None
        elif rng.random() < 0.2:
            held = document
        else:
            rows.append(document)
    return rows + ([held] if held is not None else [])


def pad(rows):
    """Inputs and targets [rows, time]; -1 marks what is not to be learned."""
    longest = max(len(row) for row in rows)
    inputs = np.full((len(rows), longest), END_OF_TEXT)
    targets = np.full((len(rows), longest), -1)
    for i, row in enumerate(rows):
        inputs[i, : len(row)] = row
        targets[i, : len(row)] = [*row[1:], END_OF_TEXT]
    return torch.from_numpy(inputs), torch.from_numpy(targets)


def batches_of(rows, tokens):
    """Cut rows sorted by length into batches of about so many tokens."""
    rows, batch = sorted(rows, key=len), []
    for row in rows:
        if batch and (len(batch) + 1) * len(row) > tokens:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def batch_stream(documents, tokens, context, seed):
    """Endless batches: shuffled documents, sorted within a pool, batches shuffled again."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(range(len(documents)), len(documents))
        for start in range(0, len(order), POOL):
            pool = [documents[i] for i in order[start : start + POOL]]
            batches = list(batches_of(rows_of(pool, context, rng), tokens))
            rng.shuffle(batches)
            yield from batches


def loss_of(model, inputs, targets, bf16):
    """Mean cross-entropy of the targets that count."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model.logits(model(inputs))
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=-1)


@torch.no_grad()
def held_out_loss(model, documents, context):
    """Loss on the held-out documents in f32, a token each counting the same."""
    total = count = 0
    for rows in batches_of(list(documents), 16 * context):
        inputs, targets = pad(rows)
        known = int((targets >= 0).sum())
        total += loss_of(model, inputs, targets, False).item() * known
        count += known
    return total / count


def learning_rate(step, steps, peak):
    """Warm-up, constant, cosine to one fiftieth."""
    if step < WARM_UP:
        return peak * (step + 1) / WARM_UP
    start = steps * (1 - DECAY)
    if step < start:
        return peak
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - start) / (steps - start))))


def save(path, model, optimizer, step):
    """Write a checkpoint; a reader never sees half of it."""
    part = path.with_suffix(".part")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
               part)
    os.replace(part, path)


def make_optimizer(model, peak):
    """AdamW with weight decay on the matrices only."""
    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), foreach=True)


def train(args):
    """The training loop."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    config = CONFIGS[args.model]
    documents = load_corpus(args.corpus, Tokenizer.load(args.tokenizer), config.context)
    learned, held_out = documents[:-HELD_OUT], documents[-HELD_OUT:]
    model = Llama(config)
    optimizer = make_optimizer(model, args.lr)
    first = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    print(f"{args.model}: {model.parameter_count()} parameters, {len(learned)} documents, "
          f"{sum(map(len, learned))} tokens", flush=True)
    began, seen, mean = time.time(), 0, 0.0
    for step, rows in zip(range(args.steps),
                          batch_stream(learned, args.batch, config.context, args.seed)):
        if step < first:
            continue
        inputs, targets = pad(rows)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.steps, args.lr)
        loss = loss_of(model, inputs, targets, args.bf16)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen += int((targets >= 0).sum())
        mean += loss.item() / args.log
        if (step + 1) % args.log == 0:
            spent = time.time() - began
            print(f"step {step + 1} loss {mean:.4f} time {spent:.0f} s, {seen / spent:.0f} tokens/s",
                  flush=True)
            mean = 0.0
        if (step + 1) % args.save == 0 or step + 1 == args.steps:
            save(args.out, model, optimizer, step + 1)
            loss = held_out_loss(model, held_out[: HELD_OUT if step + 1 == args.steps else 200],
                                 config.context)
            print(f"step {step + 1} held-out loss {loss:.4f}", flush=True)


def main():
    """Parse the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=8192, help="tokens")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="matrix products in bfloat16")
    parser.add_argument("--log", type=int, default=20)
    parser.add_argument("--save", type=int, default=200)
    parser.add_argument("--resume", type=pathlib.Path, help="checkpoint to go on from")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
