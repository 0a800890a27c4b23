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

from model import CONFIGS, Llama
from muon import Muon
from tokenizer import END_OF_TEXT, Tokenizer

HELD_OUT = 1000  # documents at the end of the corpus
SAMPLE = 200  # of them looked at on the way, in the precision of the training
POOL = 2048  # documents sorted by length at a time
WARM_UP = 60
DECAY = 0.5  # share of the steps in which the learning rate falls


def load_corpus(path, tokenizer_path, context):
    """Token ids of each document, at most `context`; kept in a file beside the corpus."""
    cache = path.with_suffix(".tokens.npz")
    newest = max(path.stat().st_mtime, tokenizer_path.stat().st_mtime)
    if not cache.exists() or cache.stat().st_mtime < newest:
        tokenizer = Tokenizer.load(tokenizer_path)
        with path.open() as lines:
            documents = [tokenizer.encode_document(json.loads(line)) for line in lines]
        lengths = np.array([len(document) for document in documents])
        np.savez(cache, ids=np.concatenate(documents).astype(np.uint16), lengths=lengths)
    stored = np.load(cache)
    ends = stored["lengths"].cumsum()[:-1]
    return [document[:context] for document in np.split(stored["ids"], ends)]


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


def padded(length):
    """The next multiple of 16: few different shapes, and so few kernels to be made."""
    return -(-length // 16) * 16


def pad(rows):
    """Inputs and targets [rows, time]; -1 marks what is not to be learned."""
    longest = padded(max(len(row) for row in rows))
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
        if batch and (len(batch) + 1) * padded(len(row)) > tokens:
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


class CrossEntropy(torch.autograd.Function):
    """Mean cross-entropy that computes its gradient along with the loss, in place."""

    @staticmethod
    def forward(ctx, logits, targets):
        """Targets of -1 do not count."""
        known = (targets >= 0).nonzero().flatten()
        picked = targets[known]
        probabilities = torch.softmax(logits, -1, dtype=torch.float32)
        loss = -probabilities[known, picked].log().mean()
        probabilities[known, picked] -= 1
        probabilities *= (targets >= 0).float().div(len(known)).unsqueeze(1)
        ctx.save_for_backward(probabilities.to(logits.dtype))
        return loss

    @staticmethod
    def backward(ctx, gradient):
        """The gradient of the logits; the loss is the end of the graph."""
        return ctx.saved_tensors[0], None


def loss_of(model, inputs, targets, bf16):
    """Mean cross-entropy of the targets that count."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model.logits(model(inputs))
    return CrossEntropy.apply(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def held_out_loss(model, documents, context, bf16):
    """Loss on held-out documents, a token each counting the same."""
    total = count = 0
    for rows in batches_of(list(documents), 16 * context):
        inputs, targets = pad(rows)
        known = int((targets >= 0).sum())
        total += loss_of(model, inputs, targets, bf16).item() * known
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


def save(path, model, optimizers, step):
    """Write a checkpoint; a reader never sees half of it."""
    part = path.with_suffix(".part")
    states = [optimizer.state_dict() for optimizer in optimizers]
    torch.save({"model": model.state_dict(), "optimizers": states, "step": step}, part)
    os.replace(part, path)


def make_optimizers(model, peak):
    """Muon for the matrices of the layers, AdamW for the embedding and the norms."""
    named = list(model.named_parameters())
    matrices = [weight for name, weight in named if weight.dim() == 2 and "blocks" in name]
    others = [weight for name, weight in named if weight.dim() < 2 or "blocks" not in name]
    return [Muon(matrices, peak),
            torch.optim.AdamW(others, peak, betas=(0.9, 0.95), weight_decay=0.0, foreach=True)]


def resume(path, model, optimizers):
    """Load a checkpoint and return the step to go on with."""
    state = torch.load(path)
    model.load_state_dict(state["model"])
    for optimizer, stored in zip(optimizers, state["optimizers"]):
        optimizer.load_state_dict(stored)
    return state["step"]


def train_step(model, optimizers, rows, rate, bf16):
    """Learn from one batch; returns its loss and the number of tokens that counted."""
    inputs, targets = pad(rows)
    model.zero_grad(set_to_none=True)
    loss = loss_of(model, inputs, targets, bf16)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    return loss.item(), int((targets >= 0).sum())


class Log:
    """Prints the mean loss and the speed every so many steps."""

    def __init__(self, every):
        self.every, self.began, self.tokens, self.losses = every, time.time(), 0, []

    def add(self, step, loss, tokens):
        """Take note of a finished step."""
        self.losses.append(loss)
        self.tokens += tokens
        if step % self.every == 0:
            spent = time.time() - self.began
            print(f"step {step} loss {np.mean(self.losses):.4f} time {spent:.0f} s, "
                  f"{self.tokens / spent:.0f} tokens/s", flush=True)
            self.losses = []


def train(args):
    """The training loop."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    config = CONFIGS[args.model]
    documents = load_corpus(args.corpus, args.tokenizer, config.context)
    learned, held_out = documents[:-HELD_OUT], documents[-HELD_OUT:]
    model = Llama(config)
    optimizers = make_optimizers(model, args.lr)
    first = resume(args.resume, model, optimizers) if args.resume else 0
    if args.start:
        model.load_state_dict(torch.load(args.start)["model"])
    print(f"{args.model}: {model.parameter_count()} parameters, {len(learned)} documents, "
          f"{sum(map(len, learned))} tokens", flush=True)
    log, stream = Log(args.log), batch_stream(learned, args.batch, config.context, args.seed)
    for step, rows in zip(range(args.steps), stream):
        if step < first:
            continue
        rate = learning_rate(step, args.steps, args.lr)
        log.add(step + 1, *train_step(model, optimizers, rows, rate, args.bf16))
        if (step + 1) % args.save == 0 or step + 1 == args.steps:
            save(args.out, model, optimizers, step + 1)
            loss = held_out_loss(model, held_out[:SAMPLE], config.context, args.bf16)
            print(f"step {step + 1} held-out loss {loss:.4f}", flush=True)
    print(f"all held-out documents: {held_out_loss(model, held_out, config.context, False):.4f}")


def main():
    """Parse the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=8192, help="tokens")
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="matrix products in bfloat16")
    parser.add_argument("--log", type=int, default=20)
    parser.add_argument("--save", type=int, default=300)
    parser.add_argument("--start", type=pathlib.Path, help="checkpoint with the first weights")
    parser.add_argument("--resume", type=pathlib.Path, help="checkpoint to go on from")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
