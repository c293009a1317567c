# Sends one device its profile: own-script.ps1 SN-0042 COM3
param([string] $device, [string] $port)
$line = softsim next -k softsim.pem -i profiles --receipt receipt.jsonl --device $device
# Nothing is sent unless the exit code is 0.
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
$opened = New-Object System.IO.Ports.SerialPort $port, 115200
$opened.Open()
try { $opened.Write("$line`n") } finally { $opened.Close() }
