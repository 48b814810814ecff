#!/bin/sh
# Train the demo from nothing to demo/checkpoint: all stages in order, each with a limit in seconds, resumable.
# usage: run.sh PYTHON WORK_DIR CHECKPOINT_DIR [scale]     (scale 1: about three and a half hours on two idle cores)
set -eu
here=$(dirname "$0")
python=$1 work=$2 out=$3 scale=${4:-1}
mkdir -p "$work"
before=
stage() {  # name seconds options...
    name=$1 seconds=$(awk "BEGIN { print int($2 * $scale) }")
    shift 2
    if [ ! -e "$work/$name.done" ]; then
        nice -n 4 "$python" "$here/train.py" --stage "${name%-*}" --steps 1000000 --seconds "$seconds" --state "$work/$name.pt" \
            --checkpoint "$out" ${before:+--start-from "$before"} "$@" >> "$work/$name.log" 2>&1
        touch "$work/$name.done"
        nice -n 4 "$python" "$here/export.py" "$work/$name.pt" "$out" >> "$work/$name.log" 2>&1
    fi
    before=$work/$name.pt
}
stage tower-1 1500 --replay 3
stage tower64-1 1500 --replay 2 --decay 0.4
stage full-1 2700 --frozen --replay 5 --fresh --mtp-every 6 --guide 0.5
stage sizes-1 7200 --fresh --tower-lr 0.4 --lr 2e-3 --decay 0.45 --replay 2.5 --guide 0.5
stage sizes-2 900 --tower-lr 0.4 --lr 8e-4 --decay 1.0 --replay 2.5 --guide 0.1
