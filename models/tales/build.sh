#!/bin/sh
# Builds both tales models from nothing: packages, corpora, tokenizer, training, export, check.
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
$python generate.py --seed 2 --count 21000 --chats 0.85 --plots 0.78 --out build/chats.jsonl
$python tokenizer.py --corpus build/corpus.jsonl --vocab 1536 --out build/tokenizer.json

train() { # name, other arguments
    $python train.py --model "$@" --seed 1 --batch 4096 --bf16 --tokenizer build/tokenizer.json
}

publish() { # name
    $python export.py --model "$1" --checkpoint "build/$1.pt" \
        --tokenizer build/tokenizer.json --out "$1.gguf"
    $python check.py --model "$1" --checkpoint "build/$1.pt" --gguf "$1.gguf" \
        --corpus build/chats.jsonl
}

train tales --corpus build/corpus.jsonl --steps 2800 --lr 4e-3 --out build/tales-stories.pt
train tales --corpus build/chats.jsonl --steps 800 --lr 2e-3 \
    --start build/tales-stories.pt --out build/tales.pt
publish tales

train tales-draft --corpus build/corpus.jsonl --steps 2400 --lr 4e-3 --threads 1 \
    --out build/tales-draft-stories.pt
train tales-draft --corpus build/chats.jsonl --steps 1200 --lr 4e-3 --threads 1 \
    --start build/tales-draft-stories.pt --out build/tales-draft.pt
publish tales-draft
