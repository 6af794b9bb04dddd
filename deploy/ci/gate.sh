#!/usr/bin/env bash
# Runs `rpclab $COMMAND`, and compares the result with that of the base branch or with the last good one.
#   COMMAND    run FILE --rounds 8 --assert 'errors < 1%', or load ... --rounds 8 --assert 'errors < 1%'
#   GATE       conditions of `rpclab compare`, one a line; none: nothing is compared
#   UNDECIDED  fail or pass: what a gate does when rpclab cannot tell
#   MISSING    pass or fail: what a gate does when there is nothing to compare with
#   ACCEPT     true or false: true lets a gate that fails pass, so that GOOD is replaced by a slower result, or if it is damaged
#   ALLOW      settings that may differ, with commas, or busy; see `rpclab compare --help`
#   BASE       directory with the base branch; empty: compare with the file GOOD
#   GOOD       file with the last good result; a run replaces it if it passed, or if only MISSING failed it
#   OUT        directory of the reports
set -euo pipefail
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
rm -f "$OUT"/{base,result}.json "$OUT"/{report,comparison}.md "$OUT"/report.html "$OUT"/{report,gates}.junit.xml "$OUT"/{base,gates,run}.txt

# annotate prints a message that GitHub shows at the top of the run.
annotate() { [[ -z ${GITHUB_ACTIONS:-} ]] || echo "::$1 title=rpclab::$2"; }

# explain annotates what rpclab said on standard error, a file, about conditions that did not hold.
explain() {
  while IFS= read -r line; do
    case $line in
    *" failed: the ratio "* | "rpclab: "*"--assert "* | *": no rate holds"* | 'rpclab: --gate "'*) annotate error "${line#rpclab: }" ;;
    *"could not tell:"* | *"is not compared"*) annotate warning "${line#rpclab: }" ;;
    esac
  done <"$1"
}

# wrong ends the script because of a variable.
wrong() { annotate error "$1" && echo "$1" >&2 && exit 2; }

for name in UNDECIDED MISSING; do
  [[ ${!name:-fail} =~ ^(pass|fail)$ ]] || wrong "$name is ${!name}: use pass or fail"
done
[[ ${ACCEPT:-false} =~ ^(true|false)$ ]] || wrong "ACCEPT is $ACCEPT: use true or false"
xargs -n 1 printf '%s\n' <<<"$COMMAND" >/dev/null || wrong "COMMAND cannot be split into words: close its quotes"
words=()
while IFS= read -r word; do words+=("$word"); done < <(xargs -n 1 printf '%s\n' <<<"$COMMAND")
gates=() allow=()
while IFS= read -r gate; do [[ -z $gate ]] || gates+=(--gate "$gate"); done <<<"${GATE:-}"
[[ -z ${ALLOW:-} ]] || allow=(--allow "$ALLOW")

earlier=
if [[ ${#gates[@]} -gt 0 && -n ${BASE:-} ]]; then
  echo "rpclab ${words[*]}   # in $BASE"
  status=0
  (cd "$BASE" && rpclab "${words[@]}" --quiet --json "$OUT/base.json" >"$OUT/base.txt") || status=$?
  if [[ $status -eq 1 && -f $OUT/base.json ]]; then
    annotate warning "an assertion fails on the base branch too; its result is compared all the same"
    status=0
  fi
  case $status in
  0) earlier=$OUT/base.json ;;
  2) annotate warning "the base branch cannot run this command, so nothing is compared" ;;
  *) annotate error "the run of the base branch failed" && exit "$status" ;;
  esac
elif [[ -n ${GOOD:-} && -f $GOOD ]]; then
  earlier=$GOOD
fi

echo "rpclab ${words[*]}"
status=0 missing=0
{
  rpclab "${words[@]}" --json "$OUT/result.json" --md "$OUT/report.md" --html "$OUT/report.html" --junit "$OUT/report.junit.xml" 2>&1 >&3 |
    tee -i "$OUT/run.txt" >&2
} 3>&1 || status=$?
explain "$OUT/run.txt"
[[ $status -eq 0 ]] || annotate error "rpclab ended with exit code $status"

# compare compares the result with an earlier one, a file.
compare() {
  status=0
  rpclab compare "$1" "$OUT/result.json" "${gates[@]}" ${allow[@]+"${allow[@]}"} --undecided "${UNDECIDED:-fail}" "${@:2}" \
    2>"$OUT/gates.txt" || status=$?
}

# tell prints what rpclab compare said on standard error.
tell() {
  cat "$OUT/gates.txt" >&2
  explain "$OUT/gates.txt"
  [[ $status -lt 2 ]] || annotate error "rpclab compare ended with exit code $status"
}

if [[ $status -eq 0 && ${#gates[@]} -gt 0 ]]; then
  compare "$OUT/result.json" >/dev/null # with itself: only flags that are wrong end with 2, also if there is no earlier result
  if [[ $status -gt 1 ]]; then
    tell
  elif [[ -n $earlier ]]; then
    compare "$earlier" --md "$OUT/comparison.md" --junit "$OUT/gates.junit.xml"
    tell
    if [[ $status -eq 2 && $earlier == "${GOOD:-}" && ${ACCEPT:-} != true ]]; then
      remedy="$GOOD cannot be compared with: run the job once with ACCEPT=true, which replaces it, or remove it"
      annotate error "$remedy" && echo "$remedy" >&2
    elif [[ $status -eq 1 || $status -eq 2 && $earlier == "${GOOD:-}" ]] && [[ ${ACCEPT:-} == true ]]; then
      annotate warning "ACCEPT is true, so the result is accepted" && echo "ACCEPT is true, so the result is accepted." && status=0
    fi
  else
    level=warning status=0
    [[ ${MISSING:-pass} != fail ]] || { missing=1 level=error; } # but the result is kept, so that the next job can compare with it
    echo "There is no earlier result, so the gates ${MISSING:-pass}."
    annotate "$level" "there is no earlier result, so the gates ${MISSING:-pass}"
  fi
fi

if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
  for part in "$OUT/comparison.md" "$OUT/report.md"; do
    [[ ! -f $part ]] || { cat "$part" && echo; } >>"$GITHUB_STEP_SUMMARY"
  done
fi
if [[ $status -eq 0 && -n ${GOOD:-} && -f $OUT/result.json ]]; then
  mkdir -p "$(dirname "$GOOD")"
  cp "$OUT/result.json" "$GOOD.new"
  mv "$GOOD.new" "$GOOD" # at once, so that a job that is killed leaves no half of a result
  [[ -z ${GITHUB_OUTPUT:-} ]] || echo "kept=true" >>"$GITHUB_OUTPUT"
fi
exit "$((status + missing))"
