#!/bin/sh
# Builds both tales models from nothing: packages, corpus, tokenizer, training, export, check.
# Usage: models/tales/build.sh        (Debian 12; APT=no skips the installation of packages)
set -eu
cd "$(dirname "$0")"

if [ "${APT:-yes}" = yes ]; then
    apt-get install -y python3-torch libopenblas0-pthread python3-numpy
fi

export OMP_WAIT_POLICY=PASSIVE
python=/usr/bin/python3
mkdir -p build

$python generate.py --seed 1 --count 130000 --out build/corpus.jsonl
$python tokenizer.py --corpus build/corpus.jsonl --vocab 1536 --out build/tokenizer.json

build_model() { # name, steps
    $python train.py --model "$1" --steps "$2" --seed 1 --batch 4096 --lr 3e-3 --bf16 \
        --corpus build/corpus.jsonl --tokenizer build/tokenizer.json --out "build/$1.pt"
    $python export.py --model "$1" --checkpoint "build/$1.pt" \
        --tokenizer build/tokenizer.json --out "$1.gguf"
    $python check.py --model "$1" --checkpoint "build/$1.pt" --gguf "$1.gguf" \
        --corpus build/corpus.jsonl
}

build_model tales STEPS_MAIN
build_model tales-draft STEPS_DRAFT
