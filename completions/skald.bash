# bash completion for skald; made by: skald completion bash
_skald() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' word words
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
    run|chat|serve|tokenize|embed|logits|show|pull|ls|bench|completion) verb=$word; break ;;
    esac
  done
  case "$verb $prev" in
    'run -p'|'run --prompt') return ;;
    'run -f'|'run --file') return ;;
    'run -m'|'run --model') return ;;
    'run -n'|'run --n-predict') return ;;
    'run --stop') return ;;
    'run --temp'|'run --temperature') return ;;
    'run --top-k') return ;;
    'run --top-p') return ;;
    'run --min-p') return ;;
    'run --typical') return ;;
    'run --repeat-penalty') return ;;
    'run --presence-penalty') return ;;
    'run --frequency-penalty') return ;;
    'run --repeat-last-n') return ;;
    'run --logit-bias') return ;;
    'run --sampling-order') mapfile -t COMPREPLY < <(compgen -W 'standard llama.cpp' -- "$cur"); return ;;
    'run --seed') return ;;
    'run -c'|'run --ctx-size') return ;;
    'run -t'|'run --threads') return ;;
    'run --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'run --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'run --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'run --chunk') return ;;
    'run --spec') mapfile -t COMPREPLY < <(compgen -W 'off ngram draft chain' -- "$cur"); return ;;
    'run --spec-rule') mapfile -t COMPREPLY < <(compgen -W 'exact rejection' -- "$cur"); return ;;
    'run --draft'|'run --model-draft') return ;;
    'run --draft-max') return ;;
    'run --draft-min') return ;;
    'run --beams'|'run --num-beams') return ;;
    'run --n-best') return ;;
    'run --length-penalty') return ;;
    'run --early-stopping') mapfile -t COMPREPLY < <(compgen -W 'false true never' -- "$cur"); return ;;
    'run --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'chat -m'|'chat --model') return ;;
    'chat --system') return ;;
    'chat -n'|'chat --n-predict') return ;;
    'chat --stop') return ;;
    'chat --think') mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$cur"); return ;;
    'chat --temp'|'chat --temperature') return ;;
    'chat --top-k') return ;;
    'chat --top-p') return ;;
    'chat --min-p') return ;;
    'chat --typical') return ;;
    'chat --repeat-penalty') return ;;
    'chat --presence-penalty') return ;;
    'chat --frequency-penalty') return ;;
    'chat --repeat-last-n') return ;;
    'chat --logit-bias') return ;;
    'chat --sampling-order') mapfile -t COMPREPLY < <(compgen -W 'standard llama.cpp' -- "$cur"); return ;;
    'chat --seed') return ;;
    'chat -c'|'chat --ctx-size') return ;;
    'chat -t'|'chat --threads') return ;;
    'chat --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'chat --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'chat --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'chat --chunk') return ;;
    'chat --spec') mapfile -t COMPREPLY < <(compgen -W 'off ngram draft chain' -- "$cur"); return ;;
    'chat --spec-rule') mapfile -t COMPREPLY < <(compgen -W 'exact rejection' -- "$cur"); return ;;
    'chat --draft'|'chat --model-draft') return ;;
    'chat --draft-max') return ;;
    'chat --draft-min') return ;;
    'chat --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'serve -m'|'serve --model') return ;;
    'serve --host') return ;;
    'serve --port') return ;;
    'serve --admin-listen') return ;;
    'serve --api-key-file') return ;;
    'serve -a'|'serve --alias'|'serve --served-model-name') return ;;
    'serve --allowed-host') return ;;
    'serve --pooling') mapfile -t COMPREPLY < <(compgen -W 'last mean none' -- "$cur"); return ;;
    'serve --parallel'|'serve --max-running') return ;;
    'serve --max-queued') return ;;
    'serve --kv-positions') return ;;
    'serve --max-connections') return ;;
    'serve --max-buffered-bytes') return ;;
    'serve --drain') return ;;
    'serve -c'|'serve --ctx-size') return ;;
    'serve -t'|'serve --threads') return ;;
    'serve --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'serve --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'serve --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'serve --chunk') return ;;
    'serve --spec') mapfile -t COMPREPLY < <(compgen -W 'off ngram draft chain' -- "$cur"); return ;;
    'serve --spec-rule') mapfile -t COMPREPLY < <(compgen -W 'exact rejection' -- "$cur"); return ;;
    'serve --draft'|'serve --model-draft') return ;;
    'serve --draft-max') return ;;
    'serve --draft-min') return ;;
    'serve --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'tokenize -p'|'tokenize --prompt') return ;;
    'tokenize -f'|'tokenize --file') return ;;
    'tokenize --decode') return ;;
    'tokenize -m'|'tokenize --model') return ;;
    'tokenize --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'embed -p'|'embed --prompt') return ;;
    'embed -f'|'embed --file') return ;;
    'embed -m'|'embed --model') return ;;
    'embed --pooling') mapfile -t COMPREPLY < <(compgen -W 'last mean none' -- "$cur"); return ;;
    'embed -c'|'embed --ctx-size') return ;;
    'embed -t'|'embed --threads') return ;;
    'embed --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'embed --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'embed --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'embed --chunk') return ;;
    'embed --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'logits -m'|'logits --model') return ;;
    'logits --tokens') return ;;
    'logits --tokens-file') return ;;
    'logits -o'|'logits --out') return ;;
    'logits --chunks') return ;;
    'logits -t'|'logits --threads') return ;;
    'logits --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'logits --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'logits --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'logits --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'show -m'|'show --model') return ;;
    'show --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'pull --connections') return ;;
    'pull --patience') return ;;
    'pull --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'ls --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'bench -m'|'bench --model') return ;;
    'bench -p'|'bench --n-prompt') return ;;
    'bench -n'|'bench --n-gen') return ;;
    'bench -b'|'bench --batch') return ;;
    'bench -d'|'bench --n-depth') return ;;
    'bench -r'|'bench --repetitions') return ;;
    'bench --against') return ;;
    'bench --traffic') return ;;
    'bench --num-prompts') return ;;
    'bench --prefix-len') return ;;
    'bench --input-len') return ;;
    'bench --output-len') return ;;
    'bench --max-concurrency') return ;;
    'bench --trace-scale') return ;;
    'bench --cache-tokens') return ;;
    'bench --request-rate') return ;;
    'bench --spec') mapfile -t COMPREPLY < <(compgen -W 'off ngram draft chain' -- "$cur"); return ;;
    'bench --spec-rule') mapfile -t COMPREPLY < <(compgen -W 'exact rejection' -- "$cur"); return ;;
    'bench --draft'|'bench --model-draft') return ;;
    'bench --draft-max') return ;;
    'bench --draft-min') return ;;
    'bench -t'|'bench --threads') return ;;
    'bench --isa') mapfile -t COMPREPLY < <(compgen -W 'best scalar avx2 avx512 amx' -- "$cur"); return ;;
    'bench --kv-type') mapfile -t COMPREPLY < <(compgen -W 'f16 bf16 f32' -- "$cur"); return ;;
    'bench --conventions') mapfile -t COMPREPLY < <(compgen -W 'publisher llama.cpp' -- "$cur"); return ;;
    'bench --color') mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    'bench -o'|'bench --output') mapfile -t COMPREPLY < <(compgen -W 'md json' -- "$cur"); return ;;
  esac
  case $verb in
    '') words='run chat serve tokenize embed logits show pull ls bench completion -h --help --version' ;;
    run) words='-h --help -p --prompt -f --file --special --no-bos -m --model -n --n-predict --stop --ignore-eos --no-echo --temp --temperature --top-k --top-p --min-p --typical --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --logit-bias --sampling-order --seed -c --ctx-size -t --threads --isa --kv-type --conventions --chunk --spec --spec-rule --draft --model-draft --draft-max --draft-min --beams --num-beams --n-best --length-penalty --early-stopping --json -q --quiet --verbose --color' ;;
    chat) words='-h --help -m --model --system --no-wrap -n --n-predict --stop --ignore-eos --think --temp --temperature --top-k --top-p --min-p --typical --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --logit-bias --sampling-order --seed -c --ctx-size -t --threads --isa --kv-type --conventions --chunk --spec --spec-rule --draft --model-draft --draft-max --draft-min --json -q --quiet --verbose --color' ;;
    serve) words='-h --help -m --model --host --port --admin-listen --api-key-file -a --alias --served-model-name --any-model-name --allowed-host --pooling --parallel --max-running --max-queued --kv-positions --max-connections --max-buffered-bytes --drain --no-sandbox -c --ctx-size -t --threads --isa --kv-type --conventions --chunk --spec --spec-rule --draft --model-draft --draft-max --draft-min --json -q --quiet --verbose --color' ;;
    tokenize) words='-h --help -p --prompt -f --file --special --no-bos --decode -m --model --ids --json -q --quiet --verbose --color' ;;
    embed) words='-h --help -p --prompt -f --file --special --no-bos -m --model --pooling -c --ctx-size -t --threads --isa --kv-type --conventions --chunk --json -q --quiet --verbose --color' ;;
    logits) words='-h --help -m --model --tokens --tokens-file -o --out --chunks -t --threads --isa --kv-type --conventions -q --quiet --verbose --color' ;;
    show) words='-h --help -m --model --metadata --tensors --json -q --quiet --verbose --color' ;;
    pull) words='-h --help --connections --patience --json -q --quiet --verbose --color' ;;
    ls) words='-h --help --json -q --quiet --verbose --color' ;;
    bench) words='-h --help -m --model -p --n-prompt -n --n-gen -b --batch -d --n-depth -r --repetitions --profile --against --traffic --num-prompts --prefix-len --input-len --output-len --max-concurrency --trace-scale --cache-tokens --request-rate --spec --spec-rule --draft --model-draft --draft-max --draft-min -t --threads --isa --kv-type --conventions --json -q --quiet --verbose --color -o --output' ;;
    completion) words='-h --help' ;;
  esac
  if [[ -z $verb || $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}
complete -o bashdefault -o default -F _skald skald
