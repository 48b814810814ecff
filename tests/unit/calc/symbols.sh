#!/usr/bin/env bash
# Fails if the calculator's objects need more than arithmetic: memory from the heap, exceptions, RTTI or streams.
# usage: symbols.sh NM OBJECT...
set -euo pipefail
nm=$1
shift
[ $# -gt 0 ] || { echo "symbols.sh: expected object files, found none"; exit 1; }
needed=$("$nm" --undefined-only "$@")
[ -n "$needed" ] || { echo "symbols.sh: nothing was read"; exit 1; }
# operator new and delete, malloc; throwing and unwinding; type information; streams, strings and locales.
unwanted='_Zn[wa]|_Zd[la]|malloc$|calloc$|free$|__cxa_|_Unwind|__gxx_personality|_ZT[IV]|_ZSt[0-9]+__throw'
unwanted+='|_ZSt4c|_ZNS[aois]|_ZNSt7__cxx11|_ZNSt6locale'
if found=$(grep -E " U ($unwanted)" <<<"$needed"); then
  echo "the calculator needs what a page does not have:"
  echo "$found"
  exit 1
fi
echo "$(grep -c ' U ' <<<"$needed") references, none to memory, exceptions or streams"
