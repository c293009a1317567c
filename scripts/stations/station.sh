#!/usr/bin/env bash
# Programs devices, each with its own profile: one after another, or a panel at once. You can stop and start it at any
# time. Usage: station.sh [PORT...]. README.md beside this file describes the settings, which are environment variables.
set -uf
profiles=${PROFILES:-profiles} key=${KEY:-softsim.pem} results=${RESULTS:-results.csv} receipt=${RECEIPT:-receipt.jsonl}
baud=${BAUD:-115200} program=${PROGRAM:-program-device} size=${PANEL:-1} limit=${TIMEOUT:-30} low=${LOW_STOCK:-50}
pass=${PASS:-^OK} fail=${FAIL:-ERROR|FAIL} reads=${READ:-} log=${LOG:-}
serials=${SERIALS:-'^[A-Za-z0-9._:/#+-]{1,128}$'}
start=start_program before='' after=$'\n' ports=("$@")
[ $# -gt 0 ] || read -ra ports <<< "${PORT:-}"
[ ${#ports[@]} -eq 0 ] || { start=start_port size=${#ports[@]}; }
[ -z "${SEND:-}" ] || before=${SEND%%'%s'*} after=${SEND#*'%s'}$'\r\n'
# For each slot of the panel, from 1: the serial number, the profile, its ICCID, the open port, the running process.
panel=() lines=() iccids=() open=() jobs=()
begun=() passed=0 failed=0 repeated=0 left='' broken=''
declare -A state

# No other process is started for what is written down: Ctrl-C would end it.
note() { [ -z "$log" ] || TZ=UTC printf '%(%FT%TZ)T %s\n' -1 "$1" >> "$log"; }
say() { printf '%s\n' "$1" >&2; note "$1"; }
stop() { echo "$1" >&2; exit 2; }
record() {
  TZ=UTC printf '%(%FT%TZ)T,%s,"%s",%s\n' -1 "$HOSTNAME" "${1//\"/\"\"}" "$2" >> "$results" && state[$1]=$2
}
discard() { local end=$((SECONDS + 3)); while ((SECONDS < end)) && IFS= read -rst 0.1 -n 1 -u "$1" _; do :; done; }

# If the cable is unplugged, this must not create a file of that name.
open_port() {
  local port=${ports[$1 - 1]} fd
  [ -c "$port" ] && stty -F "$port" "$baud" cs8 -parenb -cstopb -crtscts -hupcl clocal raw -echo \
    && exec {fd}<> "$port" && [ -c "/dev/fd/$fd" ] || { say "$port is not a serial port. Check the cable."; return 1; }
  open[$1]=$fd
}
close_ports() { local fd; for fd in "${open[@]}"; do exec {fd}>&-; done; open=(); }

last_receipt() { grep -F -- "\"device\":\"$1\"," "$receipt" 2> /dev/null | tail -n 1; }
# A directory from a backup, or another one, would give this device a second profile. Fails if it does not know it.
is_known() {
  local code
  softsim status -i "$profiles" --device="$1" > /dev/null 2> "$scratch/messages"
  code=$?
  [ "$code" -eq 3 ] || { relay; [ "$code" -eq 0 ] || exit "$code"; return 0; }
  true > "$scratch/messages"
  say "Device $1 has a profile that this directory does not know. Put the device aside."
  say "Is the directory from a backup? Then type exit: other devices can get profiles that are in use."
  say "Its own profile: softsim next --iccid $2. See After a disk died in the manual of status."
  record "$1" fail || exit 9
  ((failed += 1))
  return 1
}
# Asks for the device of one slot. Fails if it must be asked for again.
scan() {
  local serial answer other iccid='' prompt='Serial number of the device: '
  # The same letters in every locale.
  local LC_ALL=C
  [ "$size" -eq 1 ] || prompt="Serial number of device $1 of $size${ports[$1 - 1]:+, at ${ports[$1 - 1]}}, or skip: "
  read -rp "$prompt" serial || exit 0
  case ${serial,,} in
    exit) exit 0 ;;
    skip) [ "$size" -eq 1 ] || return 0 ;;&
    '') say 'Nothing was read. Is the label blank?'; return 1 ;;
    skip | yes | no | quit | help) say "$serial is not a serial number. To end the shift, type exit."; return 1 ;;
  esac
  [[ $serial =~ $serials ]] || { say 'This is not a serial number of a device.'; return 1; }
  for other in "${panel[@]}"; do
    [ "$serial" != "$other" ] || { say "Device $serial is in this panel already."; return 1; }
  done
  if grep -qF -- ",\"${serial//\"/\"\"}\",pass" "$results"; then
    [ ! -t 0 ] || discard 0
    read -rp "Device $serial is already programmed. Is it this device? Type yes to program it again: " answer || exit 0
    [ "$answer" = yes ] || return 1
    iccid=ICCID
  fi
  [ -n "${state[$serial]-}" ] || { begun+=("$serial"); state[$serial]=scanned; }
  [[ ! $(last_receipt "$serial") =~ \"iccid\":\"([0-9]+)\" ]] || iccid=${BASH_REMATCH[1]}
  [ -z "$iccid" ] || is_known "$serial" "$iccid" || return 1
  panel[$1]=$serial
}
scan_panel() {
  local slot is_new=yes
  panel=()
  for ((slot = 1; slot <= size; slot++)); do
    # Drop what was scanned too early. Otherwise, the next label could get to the slot that is asked for again.
    [ -z "$is_new" ] || [ ! -t 0 ] || discard 0
    if scan "$slot"; then is_new=''; else is_new=yes; ((slot -= 1)); fi
  done
}

# Takes the profiles of the panel with one call: all or none, in the order of the slots.
take() {
  local IFS=$'\n' slot serial receipts devices=() taken code
  for serial in "${panel[@]}"; do
    devices+=("--device=$serial")
    state[$serial]=started
  done
  taken=$(softsim next -v -k "$key" -i "$profiles" "${devices[@]}" --receipt="$receipt" 2> "$scratch/messages")
  code=$?
  # 3: nothing is claimed.
  [ "$code" -ne 3 ] || for serial in "${panel[@]}"; do state[$serial]=scanned; done
  [ "$code" -eq 0 ] || exit "$code"
  relay
  taken=($taken)
  [ ${#taken[@]} -eq ${#panel[@]} ] || { say "softsim has not printed ${#panel[@]} profiles."; exit 1; }
  lines=() iccids=()
  for slot in "${!panel[@]}"; do
    lines[slot]=${taken[${#lines[@]}]}
    receipts=$(last_receipt "${panel[slot]}")
    [[ $receipts =~ \"iccid\":\"([0-9]+)\" ]] && iccids[slot]=${BASH_REMATCH[1]} || iccids[slot]=''
    [[ $receipts != *'"again":true'* ]] || ((repeated += 1))
  done
}

# Shows what softsim has said, except for what only -v says: of that, how many profiles are left.
relay() {
  local line
  while IFS= read -r line; do
    if [[ $line == softsim:* && ! $line =~ ^softsim:\ (error|warning|hint): ]]; then note "$line"; else say "$line"; fi
    [[ ! $line =~ at\ most\ ([0-9]+)\ unused\ profile ]] || left=${BASH_REMATCH[1]}
    [[ $line != *'no other known unused profile'* ]] || left=0
  done < "$scratch/messages"
  true > "$scratch/messages"
}
tell_left() {
  [ -n "$left" ] || return 0
  if [ "$left" -lt "$size" ] && [ "$size" -gt 1 ]; then
    say "WARNING: profiles left: $left. Fetch more, or type skip for slots that get none."
  elif [ "$left" -gt "$low" ]; then say "Profiles left: $left"
  else say "WARNING: profiles left: $left. Fetch more."; fi
}

# What a device says of itself is held against what it got. Fails if they differ: two devices may have one identity.
is_same() {
  [[ -n $reads && $2 =~ $reads ]] || return 0
  has_said=${BASH_REMATCH[1]-nothing}
  [ "$has_said" != "${iccids[$1]:-unknown}" ] || return 0
  say "Device ${panel[$1]} got ${iccids[$1]}, but says $has_said: it may have another identity. Do not ship it."
  return 1
}
# Cleans a line that a device says. A device may echo its profile.
hear() {
  line=${line//"${lines[$1]}"/(profile)}
  line=${line//[^[:print:]]/}
  note "Device ${panel[$1]}: $line"
}

start_port() { talk "$1" "${open[$1]}" & jobs[$1]=$!; }
talk() {
  local line has_passed='' has_said='' end=$((SECONDS + limit))
  [ -n "$reads" ] || has_said=yes
  discard "$2"
  printf '%s' "$before${lines[$1]}$after" >&"$2" 2> /dev/null
  while ((SECONDS < end)) && IFS= read -rt $((end - SECONDS)) -u "$2" line; do
    hear "$1"
    [[ ! $line =~ $fail ]] || { say "Device ${panel[$1]} answers: $line"; return 1; }
    is_same "$1" "$line" || return 1
    [[ ! $line =~ $pass ]] || has_passed=yes
    [ -z "$has_passed" ] || [ -z "$has_said" ] || return 0
  done
  say "No answer${has_passed:+ that names the ICCID} from device ${panel[$1]} (limit: $limit s)."
  return 1
}

# In the background: bash handles Ctrl-C only when a program in the foreground has ended.
start_program() {
  local out=1
  [ -z "$reads" ] || exec {out}> "$scratch/$1"
  printf '%s' "$before${lines[$1]}$after" \
    | SLOT=$1 DEVICE=${panel[$1]} timeout -k 5 "$limit" "$program" >&"$out" & jobs[$1]=$!
  [ "$out" -eq 1 ] || exec {out}>&-
}
# Whether what the program has printed names the ICCID.
has_right_iccid() {
  local line has_said=''
  while IFS= read -r line || [ -n "$line" ]; do
    hear "$1"
    is_same "$1" "$line" || return 1
  done < "$scratch/$1"
  [ -n "$has_said" ] || { say "$program does not name the ICCID of device ${panel[$1]}."; return 1; }
}

# Writes down what became of a device whose process has ended with this exit code.
judge() {
  local serial=${panel[$1]} code=$2
  unset "jobs[$1]"
  if [ "$start" = start_program ]; then
    case $code in 124 | 137) say "$program did not end for device $serial (limit: $limit s)." ;; esac
    [ "$code" -ne 0 ] || [ -z "$reads" ] || has_right_iccid "$1" || code=1
  fi
  if [ "$code" -eq 0 ]; then
    record "$serial" pass || { broken=yes; return; }
    ((passed += 1))
    say "Device $serial is programmed."
  else
    record "$serial" fail || { broken=yes; return; }
    ((failed += 1))
    say "Device $serial failed. Scan it again to repeat: it gets the same profile."
  fi
}

# A second Ctrl-C, or the second signal of a terminal that is closed, must not cut this off.
finish() {
  local code=$? why='End of the shift' slot serial ended=()
  trap '' INT TERM HUP PIPE
  {
    for slot in "${!jobs[@]}"; do kill "${jobs[slot]}"; done
    # A device whose process ends with 0 all the same is programmed.
    for slot in "${!jobs[@]}"; do if wait "${jobs[slot]}"; then ended+=("$slot"); fi; done
  } 2> /dev/null
  for slot in "${ended[@]}"; do judge "$slot" 0; done
  relay
  case $code in
    0 | 129 | 130 | 143) ;;
    3) why='Too few profiles are left' ;;
    *) why="Stopped with exit code $code" ;;
  esac
  say "$why: $passed passed, $failed failed, $repeated repeated, ${left:-?} profiles left."
  for serial in "${begun[@]}"; do
    [ "${state[$serial]}" != started ] || record "$serial" unfinished
    case ${state[$serial]} in
      pass) ;;
      scanned) say "Device $serial was scanned, but not programmed: scan it again." ;;
      *) say "Device $serial is not finished: scan it again." ;;
    esac
  done
  rm -rf "$scratch"
}

for tool in softsim stty timeout; do command -v "$tool" > /dev/null || stop "$tool is not on the PATH."; done
[ "$start" = start_port ] || command -v "$program" > /dev/null \
  || stop "$program is not on the PATH. Or name a serial port."
for setting in "PANEL=$size" "BAUD=$baud" "TIMEOUT=$limit" "LOW_STOCK=$low"; do
  [[ ${setting#*=} =~ ^(0|[1-9][0-9]{0,7})$ ]] || stop "$setting is not a number."
done
[ "$size" -gt 0 ] || stop 'PANEL is 0.'
for pattern in "$pass" "$fail" "$reads" "$serials"; do
  [[ '' =~ $pattern ]] || [ $? -eq 1 ] || stop "$pattern is not a regular expression."
done
[[ -z $reads || $reads == *'('* ]] || stop 'READ has no (...) around the ICCID.'
[[ -z ${SEND:-} || $SEND == *%s* ]] || stop 'SEND has no %s for the profile.'
for ((slot = 1; slot <= ${#ports[@]}; slot++)); do open_port "$slot" || exit 2; done
# Two profiles would go to one device.
[ -z "$(readlink -f -- "${ports[@]}" /dev/null | sort | uniq -d)" ] || stop 'A port is named twice.'
# 3: no unused profile is left. Devices that have one can still be repeated.
status=$(softsim status -i "$profiles" -k "$key" -n 20 --format=json)
code=$?
[ "$code" -eq 0 ] || { [ "$code" -eq 3 ] && [ -d "$profiles/.devices" ]; } || exit "$code"
[[ $status =~ \"unused\":([0-9]+) ]] && left=${BASH_REMATCH[1]}
[ -s "$results" ] || echo time,station,device,result >> "$results" || stop "Can't write $results."
# A power cut can leave a part of a line.
[ -z "$(tail -c 1 "$results")" ] || echo >> "$results" || stop "Can't write $results."
[ -z "$log" ] || true >> "$log" || stop "Can't write $log."
scratch=$(mktemp -d) && true > "$scratch/messages" || exit 2
trap finish EXIT
trap 'echo; exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

while :; do
  tell_left
  scan_panel
  close_ports
  for ((slot = 1; slot <= ${#ports[@]}; slot++)); do
    [ -z "${panel[slot]-}" ] || open_port "$slot" || { say "Device ${panel[slot]} is left out."; unset "panel[slot]"; }
  done
  [ ${#panel[@]} -gt 0 ] || continue
  take
  for slot in "${!panel[@]}"; do "$start" "$slot"; done
  for slot in "${!panel[@]}"; do wait "${jobs[slot]}"; judge "$slot" $?; done
  [ -z "$broken" ] || exit 9
done
