@echo off
rem Programs one device after another, each with its own profile. You can stop and start it at any time.
rem Usage: station.cmd [PORT]. README.md beside this file describes the settings, which are environment variables.
rem Use station.ps1 where PowerShell is allowed: it limits the time and reads the answer of a device on a serial port.
setlocal EnableExtensions EnableDelayedExpansion
if not defined PROFILES set "PROFILES=profiles"
if not defined KEY set "KEY=softsim.pem"
if not defined RESULTS set "RESULTS=results.csv"
if not defined RECEIPT set "RECEIPT=receipt.jsonl"
if not defined BAUD set "BAUD=115200"
if not defined PROGRAM set "PROGRAM=program-device"
if not "%~1" == "" set "PORT=%~1"
set "unfinished=!RESULTS!.unfinished" & set "nothing=!RESULTS!.nothing" & set "blank=0"
set "letters=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/#+-"

where softsim > nul 2>&1 || (echo softsim is not on the PATH.>&2& exit /b 2)
if defined PORT (call :open || exit /b 2) else (
  where "!PROGRAM!" > nul 2>&1 || (echo !PROGRAM! is not on the PATH. Or name a serial port.>&2& exit /b 2)
)
type nul >> "!RESULTS!" || (echo Can't write !RESULTS!.>&2& exit /b 2)
softsim status -i "!PROFILES!" -k "!KEY!" -n 20 > nul
set "code=!ERRORLEVEL!"
rem 3: no unused profile is left. Devices that have one can still be repeated.
if "!code!" == "3" if exist "!PROFILES!\.devices\" set "code=0"
if not "!code!" == "0" exit /b !code!
set "serial="
if exist "!unfinished!" set /p "serial=" < "!unfinished!"
if defined serial echo Device !serial! is not finished: scan it again.

:next
rem cmd can't discard what was typed or scanned too early: only Enter alone goes on.
set "early="
set /p "early=Put the next device in, then press Enter: "
if defined early goto next
:ask
set "serial="
set /p "serial=Serial number of the device, or exit: "
if not defined serial (set /a blank += 1 > nul & if !blank! lss 100 (goto ask) else exit /b 0)
if "!serial!" == "exit" exit /b 0
set "blank=0" & set "others="
for /f "eol=A delims=%letters%" %%c in ("!serial!") do set "others=%%c"
if defined others (echo This is not a serial number of a device.& goto ask)
find """!serial!"",pass" "!RESULTS!" > nul || goto take
set "answer="
set /p "answer=Device !serial! is already programmed. Is it this device? Type yes to program it again: "
if not "!answer!" == "yes" goto next

:take
if defined PORT call :open || goto next
> "!unfinished!" echo !serial!
echo Device !serial! is not finished until the next line says so. If this window closes, scan it again.
if defined PORT goto port
if exist "!nothing!" del "!nothing!"
rem The exit code of a pipe is the exit code of its last program.
set "next=softsim next -k "%KEY%" -i "%PROFILES%" --device="%serial%" --receipt="%RECEIPT%""
(%next% || > "%nothing%" echo %serial%) | "%PROGRAM%"
set "code=!ERRORLEVEL!"
if exist "!nothing!" (del "!nothing!" & goto stop)
if "!code!" == "0" (goto pass) else goto fail

:port
softsim next -k "!KEY!" -i "!PROFILES!" --device="!serial!" --receipt="!RECEIPT!" > "\\.\!PORT!"
if not "!ERRORLEVEL!" == "0" goto stop
set "answer="
set /p "answer=Has the device accepted the profile? Type yes or no: "
if "!answer!" == "yes" goto pass

:fail
>> "!RESULTS!" echo "!DATE! !TIME!",!COMPUTERNAME!,"!serial!",fail
echo Device !serial! failed. Scan it again to repeat: it gets the same profile.
goto next

:pass
>> "!RESULTS!" echo "!DATE! !TIME!",!COMPUTERNAME!,"!serial!",pass|| (echo Can't write !RESULTS!.>&2& goto stop)
del "!unfinished!"
echo Device !serial! is programmed.
goto next

:stop
echo Device !serial! is not finished: scan it again.>&2
exit /b 1

:open
mode !PORT!: BAUD=!BAUD! PARITY=n DATA=8 STOP=1 to=off xon=off odsr=off octs=off > nul && exit /b 0
echo !PORT! is not a serial port. Check the cable.>&2
exit /b 1
