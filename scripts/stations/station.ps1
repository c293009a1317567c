# Programs one device after another, each with its own profile. You can stop and start it at any time.
# Usage: station.ps1 [PORT]. README.md beside this file describes the settings, which are environment variables.
param([string] $Port = $env:PORT)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$PSNativeCommandUseErrorActionPreference = $false

function Get-Setting($name, $default) {
  $value = [Environment]::GetEnvironmentVariable($name)
  if ($value) { $value } else { $default }
}
$profiles = Get-Setting PROFILES 'profiles'; $key = Get-Setting KEY 'softsim.pem'
$receipt = Get-Setting RECEIPT 'receipt.jsonl'; $program = Get-Setting PROGRAM 'program-device'
$baud = [int] (Get-Setting BAUD 115200); $limit = [int] (Get-Setting TIMEOUT 30)
$pass = Get-Setting PASS '^OK'; $fail = Get-Setting FAIL 'ERROR|FAIL'
$serials = Get-Setting SERIALS '^[A-Za-z0-9._:/#+-]{1,128}\z'
# .NET has a current directory of its own.
$results = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath((Get-Setting RESULTS 'results.csv'))
# In a hash table of PowerShell, SN-A and sn-a would be the same device.
$state = New-Object 'System.Collections.Generic.Dictionary[string,string]'
$com = $null

function Say($text) { [Console]::Error.WriteLine($text) }
function Find-Program($name) {
  Get-Command $name -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
}
function Add-Result($serial, $result) {
  $time = [DateTime]::UtcNow.ToString('s') + 'Z'
  $fields = $time, [Environment]::MachineName, ('"' + $serial.Replace('"', '""') + '"'), $result
  [IO.File]::AppendAllText($results, ($fields -join ',') + "`n")
  $state[$serial] = $result
}

function Open-Port {
  $opened = New-Object System.IO.Ports.SerialPort $Port, $baud
  $opened.NewLine = "`n"; $opened.ReadTimeout = 500; $opened.WriteTimeout = 5000
  $opened.DtrEnable = $true; $opened.RtsEnable = $true
  try { $opened.Open(); $opened } catch { Say "$Port can't be opened. Check the cable. $($_.Exception.Message)" }
}

function Send-ToPort($line) {
  $end = [DateTime]::UtcNow.AddSeconds($limit)
  $com.DiscardInBuffer()
  $com.Write("$line`n")
  while ([DateTime]::UtcNow -lt $end) {
    try { $answer = $com.ReadLine().Trim() } catch [TimeoutException] { continue }
    if ($answer -cmatch $fail) { Say "The device answers: $($answer.Replace($line, '(profile)'))"; return $false }
    if ($answer -cmatch $pass) { return $true }
  }
  Say "No answer from the device (limit: $limit s)."
  return $false
}

# Not through a pipe of PowerShell, which ends the line with CR LF and can begin it with a byte order mark.
function Send-ToProgram($line) {
  $start = New-Object System.Diagnostics.ProcessStartInfo (Find-Program $program).Path
  $start.UseShellExecute = $false; $start.RedirectStandardInput = $true
  $encoding = New-Object System.Text.UTF8Encoding $false
  if ([Console]::InputEncoding.GetPreamble().Length) { [Console]::InputEncoding = $encoding }
  $end = [DateTime]::UtcNow.AddSeconds($limit)
  $process = [System.Diagnostics.Process]::Start($start)
  try {
    $bytes = [Text.Encoding]::ASCII.GetBytes("$line`n")
    $process.StandardInput.BaseStream.Write($bytes, 0, $bytes.Length)
    $process.StandardInput.Close()
    while (-not $process.WaitForExit(200)) {
      if ([DateTime]::UtcNow -gt $end) { Say "$program did not end (limit: $limit s)."; return $false }
    }
    return $process.ExitCode -eq 0
  } finally {
    if (-not $process.HasExited) { $null = & taskkill.exe /T /F /PID $process.Id }
  }
}

function Clear-Keyboard {
  if ([Console]::IsInputRedirected) { return }
  do {
    while ([Console]::KeyAvailable) { $null = [Console]::ReadKey($true) }
    Start-Sleep -Milliseconds 100
  } while ([Console]::KeyAvailable)
}

if (-not (Find-Program softsim)) { Say 'softsim is not on the PATH.'; exit 2 }
if (-not $Port -and -not (Find-Program $program)) { Say "$program is not on the PATH. Or name a serial port."; exit 2 }
try { [IO.File]::AppendAllText($results, '') } catch { Say "Can't write $results."; exit 2 }
if ($Port) { $com = Open-Port; if (-not $com) { exit 2 }; $com.Dispose() }
$null = & softsim status -i $profiles -k $key -n 20
# 3: no unused profile is left. Devices that have one can still be repeated.
$canRepeat = $LASTEXITCODE -eq 3 -and (Test-Path -LiteralPath (Join-Path $profiles '.devices'))
if ($LASTEXITCODE -ne 0 -and -not $canRepeat) { exit $LASTEXITCODE }

try {
  while ($true) {
    Clear-Keyboard    # what was typed or scanned too early
    $serial = "$(Read-Host 'Serial number of the device')".Trim()
    if (-not $serial) { continue }
    if ($serial -cnotmatch $serials) { Say 'This is not a serial number of a device.'; continue }
    if (Select-String -LiteralPath $results -SimpleMatch -CaseSensitive -Quiet -Pattern ",""$serial"",pass") {
      $answer = Read-Host "Device $serial is already programmed. Is it this device? Type yes to program it again"
      if ($answer -cne 'yes') { continue }
    }
    if ($Port) { $com = Open-Port; if (-not $com) { continue } }
    $state[$serial] = 'started'
    $line = & softsim next -k $key -i $profiles "--device=$serial" "--receipt=$receipt"
    if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
    try { $isDone = if ($Port) { Send-ToPort $line } else { Send-ToProgram $line } } catch { Say $_; $isDone = $false }
    if ($com) { $com.Dispose() }
    Add-Result $serial $(if ($isDone) { 'pass' } else { 'fail' })
    if ($isDone) { Say "Device $serial is programmed." }
    else { Say "Device $serial failed. Scan it again to repeat: it gets the same profile." }
  }
} finally {
  if ($com) { $com.Dispose() }
  foreach ($serial in @($state.Keys)) {
    if ($state[$serial] -ne 'pass') { Say "Device $serial is not finished: scan it again." }
    if ($state[$serial] -eq 'started') { Add-Result $serial unfinished }
  }
}
