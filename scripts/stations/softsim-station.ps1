Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$PSNativeCommandUseErrorActionPreference = $false

$help = @'
(npm run package writes the help of softsim-station here, and the script to dist/stations)
'@
if ($args -and $args[0] -match '^(-h|--help|-help|/\?)\z') { $help; exit 0 }
$log = ''
function Get-Time { [DateTime]::UtcNow.ToString('s', [Globalization.CultureInfo]::InvariantCulture) + 'Z' }
function Write-Note($text) {
  if ($log) { try { [IO.File]::AppendAllText($log, "$(Get-Time) $text`n") } catch { [Console]::Error.WriteLine("$_") } }
}
function Say($text) { [Console]::Error.WriteLine($text); Write-Note $text }
function Stop-Start($why) { Say $why; exit 2 }
if ($args -and $args[0] -match '^-|=') {
  Stop-Start "$($args[0]) is not a serial port. Settings are environment variables: see softsim-station --help."
}
function Get-Setting($name, $default) {
  $value = [Environment]::GetEnvironmentVariable($name)
  if ($value) { $value } else { $default }
}
function Get-Number($name, $default) {
  $value = Get-Setting $name $default
  if ("$value" -cmatch '^(0|[1-9][0-9]{0,7})\z') { [int] $value } else { Stop-Start "$name=$value is not a number." }
}
# .NET has a current directory of its own.
function Get-FullPath($path) { $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($path) }
$ports = @(if ($args) { $args } else { (Get-Setting PORT '') -split '\s+' -ne '' })
$profiles = Get-Setting PROFILES (Get-Setting SOFTSIM_DIR 'profiles')
# In quotation marks, a program takes the last backslash for an escape.
if ($profiles.EndsWith('\')) { $profiles += '.' }
$key = Get-Setting KEY (Get-Setting SOFTSIM_KEY_FILE 'softsim.pem')
$receipt = Get-Setting RECEIPT (Get-Setting SOFTSIM_RECEIPT 'receipt.jsonl'); $program = Get-Setting PROGRAM 'program-device'
$env:SOFTSIM_STATION = Get-Setting STATION (Get-Setting SOFTSIM_STATION ([Environment]::MachineName))
$baud = Get-Number BAUD 115200; $limit = Get-Number TIMEOUT 30; $lowStock = Get-Number LOW_STOCK 50
$size = if ($ports) { $ports.Count } else { Get-Number PANEL 1 }
$pass = Get-Setting PASS '^OK'; $fail = Get-Setting FAIL 'ERROR|FAIL'; $reads = Get-Setting READ ''
$serials = Get-Setting SERIALS '^[A-Za-z0-9._:/#+-]{1,128}\z'
$results = Get-FullPath (Get-Setting RESULTS 'results.csv'); $unfinished = "$results.unfinished"
$log = if (Get-Setting LOG '') { Get-FullPath (Get-Setting LOG '') } else { '' }
$send = Get-Setting SEND ''; $frame = if ($send) { "$send`r`n" } else { "%s`n" }
# In a hash table of PowerShell, SN-A and sn-a would be the same device.
$state = New-Object 'System.Collections.Generic.Dictionary[string,string]'
$shift = @{ Passed = 0; Failed = 0; Repeated = 0; Left = '?'; Code = 0; IsRefused = $false; HasProfile = $false; Early = ''; Next = 'scan it again' }
$panel = @()

function Find-Program($name) {
  Get-Command $name -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
}
function Add-Result($serial, $result) {
  $fields = (Get-Time), $env:SOFTSIM_STATION, ('"' + $serial.Replace('"', '""') + '"'), $result
  try { [IO.File]::AppendAllText($results, ($fields -join ',') + "`n"); $state[$serial] = $result }
  catch { Say "Can't write ${results}: $_"; $state[$serial] = 'unfinished'; $shift.Code = 9 }
}
# If this window is closed, or Ctrl-C ends PowerShell before the report, the next start names the devices in this file.
function Save-Unfinished {
  $open = @(foreach ($serial in $state.Keys) { if ($state[$serial] -cne 'pass') { "$($state[$serial]) $serial" } })
  try {
    if ($open) { [IO.File]::WriteAllLines($unfinished, [string[]] $open) } else { [IO.File]::Delete($unfinished) }
  } catch { Say "Can't write ${unfinished}: $_" }
}

# What softsim prints. What it says is shown, except for what only -v says: of that, how many profiles are left. Its hints
# name the settings of this script in place of options.
function Invoke-Softsim {
  # Windows PowerShell 5.1 takes what a program writes to standard error for errors.
  $ErrorActionPreference = 'Continue'
  # Only softsim gets the passphrase of the key, and only in its environment.
  $env:SOFTSIM_KEY_PASSPHRASE = $passphrase
  $said = @(& softsim @args 2>&1)
  $env:SOFTSIM_KEY_PASSPHRASE = $null
  foreach ($line in $said) {
    if ($line -isnot [Management.Automation.ErrorRecord]) { $line; continue }
    $line = "$line"
    if ($line.StartsWith('softsim: hint: ')) {
      $line = $line.Replace('check -k', 'check KEY').Replace('check -i', 'check PROFILES')
      $line = $line.Replace('check --receipt', 'check RECEIPT').Replace('mean -i ', 'mean PROFILES=')
    }
    if ($line.StartsWith('softsim: error: the value of --device ')) { $shift.IsRefused = $true }
    if ($line -cmatch '^softsim: device .* already has ') { $shift.HasProfile = $true }
    if ($line -cmatch '^softsim: (?!error:|warning:|hint:)') { Write-Note $line } else { Say $line }
    if ($line -cmatch 'at most (\d+) unused profile') { $shift.Left = [int] $Matches[1] }
    if ($line -cmatch 'no other known unused profile') { $shift.Left = 0 }
  }
}
function Test-Files {
  Test-Path ([Management.Automation.WildcardPattern]::Escape($profiles) + '/*.json') -ErrorAction Ignore
}
function Show-Left {
  if ($size -gt 1 -and $shift.Left -lt $size) {
    Say "WARNING: profiles left: $($shift.Left). Fetch more, or type skip for slots that get none."
  } elseif ($shift.Left -gt $lowStock) { Say "Profiles left: $($shift.Left)" }
  else { Say "WARNING: profiles left: $($shift.Left). Fetch more." }
}
function Show-Unfinished($serial) {
  switch ($state[$serial]) {
    pass { }
    scanned { Say "Device $serial was scanned, but not programmed: $($shift.Next)." }
    default { Say "Device $serial is not finished: $($shift.Next)." }
  }
}
function Get-Receipt($serial) {
  if (-not (Test-Path -LiteralPath $receipt)) { return }
  $lines = Select-String -LiteralPath $receipt -SimpleMatch -CaseSensitive -Pattern """device"":""$serial"","
  $lines | Select-Object -Last 1 | ForEach-Object { $_.Line }
}
# A directory that has forgotten a device would give it a second profile. A disk that is not there has forgotten nothing.
function Test-Known($serial) {
  $null = Invoke-Softsim status -i $profiles "--device=$serial"
  $shift.Code = $LASTEXITCODE
  if ($shift.Code -eq 3 -and (Test-Files)) {
    $from = Get-Receipt $serial | ConvertFrom-Json | ForEach-Object { $_.directory }
    if ($from -and (Test-Path -LiteralPath $from) -and (Convert-Path -LiteralPath $from) -ne (Convert-Path -LiteralPath $profiles)) {
      Say "Device $serial has a profile from another directory: program it from $from."
      $shift.Code = 0
      return $false
    }
    $shift.Code = 10
    Say "Device $serial has a profile that this directory does not know. Is the directory from a backup?"
    $restore = "softsim restore -i ""$profiles"" --receipts ""$receipt"" OTHERS..."
    Say "Stop all its stations. Then, with the receipts of ALL stations and moves: $restore"
  }
  if ($shift.Code) { exit $shift.Code }
  $true
}

# Whether softsim would begin with a call: not in a copy, or for a serial number such as NOREAD.
function Test-Call {
  $shift.HasProfile = $false
  $null = Invoke-Softsim next '--dry-run' -k $key -i $profiles "--receipt=$receipt" @args
  $shift.Code = $LASTEXITCODE
  if ($shift.Code -and -not $shift.IsRefused) { exit $shift.Code }
  $shift.Code = 0
  -not $shift.IsRefused
  $shift.IsRefused = $false
}

function Open-Port($name) {
  $opened = New-Object System.IO.Ports.SerialPort $name, $baud
  $opened.WriteTimeout = 5000; $opened.DtrEnable = $true; $opened.RtsEnable = $true
  try { $opened.Open(); $opened } catch { Say "$name can't be opened. Check the cable. $($_.Exception.Message)" }
}
function Clear-Keyboard {
  if ([Console]::IsInputRedirected) { return }
  do {
    while ([Console]::KeyAvailable) { $null = [Console]::ReadKey($true) }
    Start-Sleep -Milliseconds 100
  } while ([Console]::KeyAvailable)
}

# Whether it has passed, or has a profile and did not fail here: the results may be gone, or be another station's.
function Test-Finished($serial) {
  $all = @(Select-String -LiteralPath $results -SimpleMatch -CaseSensitive -Pattern ",""$serial""," | ForEach-Object { $_.Line })
  $passed = @($all | Where-Object { $_.Contains(",""$serial"",pass") })
  if ($passed.Count -gt 0) { return $true }
  ($shift.HasProfile -and -not ("$($all | Select-Object -Last 1)" -cmatch ',(fail|unfinished)$'))
}
# Asks for the device of one slot. Returns its serial number, or nothing if it must be asked for again.
function Read-Serial($number, $taken) {
  $at = if ($ports) { " at $($ports[$number - 1])" } else { '' }
  $question = if ($size -eq 1) { 'Serial number of the device' }
    else { "Serial number of device $number of $size$at, or skip" }
  # A list may begin with a byte order mark.
  $serial = "$(if ($shift.Early) { $shift.Early } else { Read-Host $question })".Trim().Trim([char] 0xfeff)
  $shift.Early = ''
  if ($serial -eq 'exit') { exit 0 }
  if ($serial -eq 'skip' -and $size -gt 1) { return $serial }
  if (-not $serial) { Say 'Nothing was read. Is the label blank?'; return }
  if ('skip', 'yes', 'no', 'quit', 'help' -contains $serial) {
    Say "$serial is not a serial number. To end the shift, type exit."
    return
  }
  if ($serial -cnotmatch "^(?:$serials)\z") {
    $format = Get-Setting SERIALS ''
    Say "This is not a serial number of a device.$(if ($format) { " SERIALS is $format" })"
    return
  }
  if ($taken -ccontains $serial) { Say "Device $serial is in this panel already."; return }
  if (-not (Test-Call "--device=$serial")) { Say 'Nothing was programmed: scan again.'; return }
  $hasProfile = $false
  if (Test-Finished $serial) {
    Clear-Keyboard
    while (-not $hasProfile) {
      $answer = Read-Host "Device $serial is already programmed. Is it this device? Type yes to program it again, or no"
      if ($answer -ceq 'exit') { exit 0 }
      if (-not $answer -or $answer -ceq 'no') { return }
      if ($answer -ceq 'yes') { $hasProfile = $true }
      # The label of the next device. In a panel, nobody knows of which slot.
      elseif ($size -eq 1) { $shift.Early = $answer; return }
      else { Say 'Type yes or no.' }
    }
  }
  if (($hasProfile -or (Get-Receipt $serial)) -and -not (Test-Known $serial)) { return }
  $serial
}
function Read-Panel {
  $taken = @(); $isNew = $true; $number = 1
  while ($number -le $size) {
    # Drop what was scanned too early. Otherwise, the next label could get to the slot that is asked for again.
    if ($isNew) { Clear-Keyboard }
    $serial = Read-Serial $number $taken
    $isNew = -not $serial
    if ($isNew) { continue }
    if ($serial -ne 'skip') {
      $taken += $serial
      if (-not $state.ContainsKey($serial)) { $state[$serial] = 'scanned'; Save-Unfinished }
      [pscustomobject]@{
        Number = $number; Serial = $serial; Com = $null; Process = $null; Line = ''; Iccid = ''; Result = ''
        Said = ''; Output = $null; HasPassed = $false; HasSaid = -not $reads
      }
    }
    $number++
  }
}

# Not through a pipe of PowerShell, which ends the line with CR LF and can begin it with a byte order mark.
function Start-Program($slot) {
  $start = New-Object System.Diagnostics.ProcessStartInfo (Find-Program $program).Path
  $start.UseShellExecute = $false; $start.RedirectStandardInput = $true; $start.RedirectStandardOutput = [bool] $reads
  $start.WorkingDirectory = Get-FullPath '.'
  $start.EnvironmentVariables['SLOT'] = "$($slot.Number)"; $start.EnvironmentVariables['DEVICE'] = $slot.Serial
  $encoding = New-Object System.Text.UTF8Encoding $false
  if ([Console]::InputEncoding.GetPreamble().Length) { [Console]::InputEncoding = $encoding }
  $slot.Process = [System.Diagnostics.Process]::Start($start)
  if ($reads) { $slot.Output = $slot.Process.StandardOutput.ReadToEndAsync() }
  $bytes = [Text.Encoding]::ASCII.GetBytes($frame.Replace('%s', $slot.Line))
  $slot.Process.StandardInput.BaseStream.Write($bytes, 0, $bytes.Length)
  $slot.Process.StandardInput.Close()
}
function Start-Device($slot) {
  if (-not $ports) { Start-Program $slot; return }
  $slot.Com.DiscardInBuffer()
  $slot.Com.Write($frame.Replace('%s', $slot.Line))
}

# Judges one line that a device says. If it has another ICCID than it got, two devices may have one identity.
function Read-Line($slot, $text) {
  $text = ($text -replace '\p{C}').Replace($slot.Line, '(profile)')
  Write-Note "Device $($slot.Serial): $text"
  if ($ports -and $text -cmatch $fail) { Say "Device $($slot.Serial) answers: $text"; $slot.Result = 'fail'; return }
  if ($reads -and $text -cmatch $reads) {
    $slot.HasSaid = $true
    $iccid = $Matches[1]
    if (-not $slot.Iccid -or $iccid -cne $slot.Iccid) {
      Say "Device $($slot.Serial) got $($slot.Iccid), but says ${iccid}: it may have another identity. Do not ship it."
      $slot.Result = 'fail'
      return
    }
  }
  if ($text -cmatch $pass) { $slot.HasPassed = $true }
  if ($ports -and $slot.HasPassed -and $slot.HasSaid) { $slot.Result = 'pass' }
}
function Read-Port($slot) {
  $all = @(($slot.Said + $slot.Com.ReadExisting()) -split "`n")
  $slot.Said = $all[-1]
  for ($at = 0; $at -lt $all.Count - 1 -and -not $slot.Result; $at++) { Read-Line $slot $all[$at] }
}
function Read-Program($slot) {
  if (-not $slot.Process.HasExited) { return }
  if ($slot.Process.ExitCode -ne 0) { $slot.Result = 'fail'; return }
  if ($reads -and $slot.Output.Wait(5000)) {
    foreach ($text in $slot.Output.Result -split "`n") { if (-not $slot.Result) { Read-Line $slot $text } }
  }
  if ($slot.Result) { return }
  if (-not $slot.HasSaid) { Say "$program does not name the ICCID of device $($slot.Serial)." }
  $slot.Result = if ($slot.HasSaid) { 'pass' } else { 'fail' }
}
function Stop-Device($slot) {
  if ($slot.Com) { $slot.Com.Dispose() }
  if ($slot.Process -and -not $slot.Process.HasExited) { $null = & taskkill.exe /T /F /PID $slot.Process.Id }
}
# Each device is judged by itself, and an error of one does not end the others.
function Watch-Device($slot, $end) {
  try {
    if (-not $slot.Result) { if ($ports) { Read-Port $slot } else { Read-Program $slot } }
    if (-not $slot.Result -and [DateTime]::UtcNow -gt $end) {
      Say "No answer from device $($slot.Serial) (limit: $limit s)."
      $slot.Result = 'fail'
    }
  } catch { Say "Device $($slot.Serial): $_"; $slot.Result = 'fail' }
  if (-not $slot.Result) { return }
  try { Stop-Device $slot } catch { Say "$_" }
  Add-Result $slot.Serial $slot.Result
  Save-Unfinished
  switch ($state[$slot.Serial]) {
    pass { $shift.Passed++; Say "Device $($slot.Serial) is programmed." }
    fail { $shift.Failed++; Say "Device $($slot.Serial) failed. Scan it again to repeat: it gets the same profile." }
  }
}

if (-not (Find-Program softsim)) { Stop-Start 'softsim is not on the PATH.' }
if (-not $ports -and -not (Find-Program $program)) {
  $why = if ($program -match '[\\/]') { 'does not exist' } else { 'is not on the PATH' }
  Stop-Start "$program $why. Or name a serial port."
}
foreach ($pattern in $pass, $fail, $reads, $serials) {
  try { $null = [regex] $pattern } catch { Stop-Start "$pattern is not a regular expression." }
}
if ($env:SOFTSIM_STATION -cnotmatch '^[A-Za-z0-9._-]+\z') {
  Stop-Start "STATION=$env:SOFTSIM_STATION is not a name of A-Z a-z 0-9 . _ -"
}
if ($size -lt 1) { Stop-Start 'PANEL is 0.' }
if ($reads -and -not $reads.Contains('(')) { Stop-Start 'READ has no (...) around the ICCID.' }
if (-not $frame.Contains('%s')) { Stop-Start 'SEND has no %s for the profile.' }
# Two profiles would go to one device.
if (@($ports | Sort-Object -Unique).Count -ne $ports.Count) { Stop-Start 'A port is named twice.' }
foreach ($name in $ports) { $com = Open-Port $name; if (-not $com) { exit 2 }; $com.Dispose() }
$wrong = 'PROFILE KEYS RECEIPTS RESULT LOGS LOWSTOCK SERIAL TIME_OUT READS SENDS PORTS BAUDRATE PROGRAMS PANELS STATIONS'
foreach ($name in -split $wrong) {
  if (Get-Setting $name '') { Say "WARNING: $name is not a setting. See softsim-station --help." }
}
$passphrase = Get-Setting SOFTSIM_KEY_PASSPHRASE ''
$env:SOFTSIM_KEY_PASSPHRASE = $null
if (-not $passphrase -and (Select-String -LiteralPath $key -SimpleMatch -Quiet -Pattern ENCRYPTED -ErrorAction Ignore)) {
  if ([Console]::IsInputRedirected) {
    Stop-Start "$key has a passphrase, and standard input is a list: set SOFTSIM_KEY_PASSPHRASE."
  }
  $typed = Read-Host "Passphrase of $key" -AsSecureString
  $passphrase = (New-Object System.Net.NetworkCredential '', $typed).Password
}
$null = Test-Call
$counts = Invoke-Softsim status -i $profiles -k $key -n 20 '--format=json'
$code = $LASTEXITCODE
# 3: no unused profile is left. Devices that have one can still be repeated.
if ($code -eq 3 -and (Test-Files)) { $code = 0 }
if ($code -ne 0) { exit $code }
$file = Get-Setting RESULTS 'results.csv'
try {
  [IO.File]::AppendAllText($results, '')
  $text = [IO.File]::ReadAllText($results)
  if (-not $text) { [IO.File]::AppendAllText($results, "time,station,device,result`n") }
  # A power cut can leave a part of a line.
  elseif (-not $text.EndsWith("`n")) { [IO.File]::AppendAllText($results, "`n") }
  if ($log) { $file = $env:LOG; [IO.File]::AppendAllText($log, '') }
} catch { [Console]::Error.WriteLine("Can't write $file."); exit 2 }
$shift.Left = ($counts | ConvertFrom-Json).unused
Say "Station:   $env:SOFTSIM_STATION"
Say "Profiles:  $(Get-FullPath $profiles)"
Say "Key:       $(Get-FullPath $key)"
Say "Receipts:  $(Get-FullPath $receipt)"
Say "Results:   $results"
if ($ports) { Say "Ports:     $ports" } else { Say "Program:   $((Find-Program $program).Path), panel of $size" }

try {
  foreach ($line in @(if (Test-Path -LiteralPath $unfinished) { [IO.File]::ReadAllLines($unfinished) })) {
    $was, $serial = $line -split ' ', 2
    if (-not $serial -or $was -ceq 'scratch') { continue }    # as station.cmd writes it
    $state[$serial] = $was
    if ($was -ceq 'started') { Add-Result $serial unfinished }
    Show-Unfinished $serial
  }
  while ($true) {
    Show-Left
    $panel = @(Read-Panel)
    if ($ports) {
      foreach ($slot in $panel) {
        $slot.Com = Open-Port $ports[$slot.Number - 1]
        if (-not $slot.Com) { Say "Device $($slot.Serial) is left out." }
      }
      $panel = @($panel | Where-Object { $_.Com })
    }
    if (-not $panel) { continue }
    # One call takes the profiles of the panel: all or none, in the order of the slots.
    $devices = @(foreach ($slot in $panel) { $state[$slot.Serial] = 'started'; "--device=$($slot.Serial)" })
    Save-Unfinished
    $lines = @(Invoke-Softsim next -v -k $key -i $profiles @devices "--receipt=$receipt")
    $shift.Code = $LASTEXITCODE
    # Nothing is claimed.
    if (2, 3, 4, 10 -contains $shift.Code) { foreach ($slot in $panel) { $state[$slot.Serial] = 'scanned' } }
    if (-not $shift.Code -and $lines.Count -ne $panel.Count) {
      Say 'softsim has not printed a profile for each device.'
      $shift.Code = 1
    }
    if ($shift.Code) { exit $shift.Code }
    for ($at = 0; $at -lt $panel.Count; $at++) {
      $panel[$at].Line = $lines[$at]
      $given = "$(Get-Receipt $panel[$at].Serial)"
      if ($given -cmatch '"iccid":"(\d+)"') { $panel[$at].Iccid = $Matches[1] }
      if ($given -cmatch '"again":true') { $shift.Repeated++ }
    }
    foreach ($slot in $panel) {
      try { Start-Device $slot } catch { Say "Device $($slot.Serial): $_"; $slot.Result = 'fail' }
    }
    $end = [DateTime]::UtcNow.AddSeconds($limit)
    while (@($panel | Where-Object { $state[$_.Serial] -ceq 'started' })) {
      foreach ($slot in $panel) { if ($state[$slot.Serial] -ceq 'started') { Watch-Device $slot $end } }
      Start-Sleep -Milliseconds 50
    }
    if ($shift.Code) { exit $shift.Code }
  }
} finally {
  foreach ($slot in $panel) { try { Stop-Device $slot } catch { Say "$_" } }
  $why = switch ($shift.Code) {
    0 { 'End of the shift' }
    3 { if (Test-Files) { 'Too few profiles are left' } else { "There are no profiles in $profiles" } }
    10 { 'The directory is a copy, or from a backup' }
    default { "Stopped with exit code $_" }
  }
  if ($shift.Code -eq 10) { $shift.Next = 'scan it when the directory is restored' }
  Say ('{0}: {1} passed, {2} failed, {3} repeated, {4} profiles left.' -f
    $why, $shift.Passed, $shift.Failed, $shift.Repeated, $shift.Left)
  foreach ($serial in @($state.Keys)) {
    if ($state[$serial] -ceq 'started') { Add-Result $serial unfinished }
    Show-Unfinished $serial
  }
  Save-Unfinished
}
