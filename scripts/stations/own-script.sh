#!/bin/sh
# Sends one device its profile: own-script.sh SN-0042 /dev/ttyUSB0
device=$1 port=$2
stty -F "$port" 115200 cs8 raw -echo clocal -crtscts || exit
# Not through a pipe, which hides the exit code: nothing is sent unless it is 0.
line=$(softsim next -k softsim.pem -i profiles --receipt receipt.jsonl --device "$device") || exit
printf '%s\n' "$line" > "$port" || exit
echo "$device: sent. If the device says that it failed, run this again: it gets the same profile." >&2
