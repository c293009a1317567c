#!/usr/bin/env bash
# Programs one device after another, each with its own profile. You can stop and start it at any time.
# Usage: station.sh [PORT]. README.md beside this file describes the settings, which are environment variables.
set -u
profiles=${PROFILES:-profiles} key=${KEY:-softsim.pem} results=${RESULTS:-results.csv} receipt=${RECEIPT:-receipt.jsonl}
port=${1:-${PORT:-}} baud=${BAUD:-115200} program=${PROGRAM:-program-device} limit=${TIMEOUT:-30}
pass=${PASS:-^OK} fail=${FAIL:-ERROR|FAIL} serials=${SERIALS:-'^[[:alnum:]._:/#+-]{1,128}$'}
job='' send=send_to_program
declare -A state
[ -z "$port" ] || send=send_to_port

stop() { echo "$1" >&2; exit 2; }
quoted() { printf '"%s"' "${1//\"/\"\"}"; }
record() {
  printf '%s,%s,%s,%s\n' "$(date -u +%FT%TZ)" "$HOSTNAME" "$(quoted "$1")" "$2" >> "$results" && state[$1]=$2
}
discard() { local end=$((SECONDS + 3)); while ((SECONDS < end)) && IFS= read -rst 0.1 -n 1 -u "$1" _; do :; done; }

# Opens the port as descriptor 3. If the cable is unplugged, this must not create a file of that name.
open_port() {
  [ -c "$port" ] && stty -F "$port" "$baud" cs8 -parenb -cstopb -crtscts -hupcl clocal raw -echo \
    && exec 3<> "$port" && [ -c /dev/fd/3 ] || { echo "$port is not a serial port. Check the cable." >&2; return 1; }
}

send_to_port() {
  local line end=$((SECONDS + limit))
  discard 3
  printf '%s\n' "$profile" >&3
  while ((SECONDS < end)) && IFS= read -rt $((end - SECONDS)) -u 3 line; do
    line=${line//[^[:print:]]/}
    [[ ! $line =~ $fail ]] || { echo "The device answers: ${line//"$profile"/(profile)}" >&2; return 1; }
    [[ ! $line =~ $pass ]] || return 0
  done
  echo "No answer from the device (limit: $limit s)." >&2
  return 1
}

# In the background: bash handles Ctrl-C only when a program in the foreground has ended.
send_to_program() {
  local code
  printf '%s\n' "$profile" | timeout -k 5 "$limit" "$program" & job=$!
  wait "$job"; code=$?; job=''
  case $code in 124 | 137) echo "$program did not end (limit: $limit s)." >&2 ;; esac
  return "$code"
}

# A second Ctrl-C, or the second signal of a terminal that is closed, must not cut this off.
finish() {
  trap '' INT TERM HUP
  [ -z "$job" ] || { kill "$job"; wait "$job"; } 2> /dev/null
  for serial in "${!state[@]}"; do
    [ "${state[$serial]}" != started ] || record "$serial" unfinished
    [ "${state[$serial]}" = pass ] || echo "Device $serial is not finished: scan it again." >&2
  done
}

for tool in softsim stty timeout; do command -v "$tool" > /dev/null || stop "$tool is not on the PATH."; done
[ -n "$port" ] || command -v "$program" > /dev/null || stop "$program is not on the PATH. Or name a serial port."
[ -z "$port" ] || open_port || exit 2
true >> "$results" || stop "Can't write $results."
# 3: no unused profile is left. Devices that have one can still be repeated.
softsim status -i "$profiles" -k "$key" -n 20 > /dev/null
code=$?
[ "$code" -eq 0 ] || { [ "$code" -eq 3 ] && [ -d "$profiles/.devices" ]; } || exit "$code"
trap finish EXIT
trap 'echo; exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

while :; do
  [ ! -t 0 ] || discard 0    # what was typed or scanned too early
  read -rp 'Serial number of the device: ' serial || break
  [ -n "$serial" ] || continue
  [[ $serial =~ $serials ]] || { echo 'This is not a serial number of a device.' >&2; continue; }
  if grep -qF -- ",$(quoted "$serial"),pass" "$results"; then
    read -rp "Device $serial is already programmed. Is it this device? Type yes to program it again: " answer
    [ "$answer" = yes ] || continue
  fi
  [ -z "$port" ] || open_port || continue
  state[$serial]=started
  profile=$(softsim next -k "$key" -i "$profiles" --device="$serial" --receipt="$receipt") || exit
  if $send; then
    record "$serial" pass || exit 9
    echo "Device $serial is programmed."
  else
    record "$serial" fail || exit 9
    echo "Device $serial failed. Scan it again to repeat: it gets the same profile." >&2
  fi
done
