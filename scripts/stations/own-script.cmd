@echo off
rem Sends one device its profile: own-script.cmd SN-0042 COM3
mode %2: BAUD=115200 PARITY=n DATA=8 STOP=1 > nul || exit /b 1
set "line=%TEMP%\softsim-%RANDOM%.txt"
rem Not through a pipe or for /f, which hide the exit code: nothing is sent unless it is 0.
softsim next -k softsim.pem -i profiles --receipt receipt.jsonl --device "%~1" > "%line%"
set "code=%ERRORLEVEL%"
if "%code%" == "0" type "%line%" > "\\.\%2" || set "code=1"
del "%line%"
exit /b %code%
