@echo off
rem Use softsim-station.ps1 where PowerShell is allowed: it limits the time and reads the answer of a device on a port.
setlocal EnableExtensions EnableDelayedExpansion
::: (npm run package writes the help of softsim-station here, and the script to dist/stations)
set "first=%~1"
for %%h in ("-h" "--help" "-help") do if "!first!" == %%h goto help
if "!first!" == "/?" goto help
if "!first:~0,1!" == "-" (
  echo !first! is not a serial port. Settings are environment variables: see softsim-station --help.>&2
  exit /b 2
)
if not defined PROFILES set "PROFILES=!SOFTSIM_DIR!"
if not defined PROFILES set "PROFILES=profiles"
rem In quotation marks, a program takes the last backslash for an escape.
if "!PROFILES:~-1!" == "\" set "PROFILES=!PROFILES!."
if not defined KEY set "KEY=!SOFTSIM_KEY_FILE!"
if not defined KEY set "KEY=softsim.pem"
if not defined RECEIPT set "RECEIPT=!SOFTSIM_RECEIPT!"
if not defined RECEIPT set "RECEIPT=receipt.jsonl"
if not defined STATION set "STATION=!SOFTSIM_STATION!"
if not defined STATION set "STATION=!COMPUTERNAME!"
if not defined RESULTS set "RESULTS=results.csv"
if not defined BAUD set "BAUD=115200"
if not defined PROGRAM set "PROGRAM=program-device"
if not defined PANEL set "PANEL=1"
if not defined LOW_STOCK set "LOW_STOCK=50"
if not "%~1" == "" set "PORT=%*"
if defined PORT set "PANEL=0"
for %%v in (PANEL BAUD LOW_STOCK) do call :check_number %%v || exit /b 2
set "unfinished=!RESULTS!.unfinished" & set "scratch=!TEMP!\softsim-!RANDOM!!RANDOM!"
set "names=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-" & set "wrong="
for /f "eol=A delims=%names%" %%c in ("!STATION!") do set "wrong=%%c"
if defined wrong (echo STATION=!STATION! is not a name of A-Z a-z 0-9 . _ ->&2& exit /b 2)
set "SOFTSIM_STATION=!STATION!" & set "next=scan it again"
set "blank=0" & set "most=0" & set "passed=0" & set "failed=0" & set "repeated=0" & set "left=0" & set "at="
for /l %%s in (1,1,!PANEL!) do set "port%%s="
if defined PORT for %%p in (!PORT!) do call :name_port %%p || exit /b 2
if !PANEL! equ 0 (echo PANEL is 0.>&2& exit /b 2)

where softsim > nul 2>&1 || (echo softsim is not on the PATH.>&2& exit /b 2)
if not defined PORT where "!PROGRAM!" > nul 2>&1 || (echo !PROGRAM! does not exist, or is not on the PATH. Or name a serial port.>&2& exit /b 2)
if defined SEND if "!SEND:%%s=!" == "!SEND!" (echo SEND has no %%s for the profile.>&2& exit /b 2)
mkdir "!scratch!" || exit /b 2
for %%v in (PROFILE KEYS RECEIPTS RESULT LOGS LOWSTOCK SERIAL TIME_OUT READS SENDS PORTS BAUDRATE PROGRAMS PANELS STATIONS) do (
  if defined %%v echo WARNING: %%v is not a setting. See softsim-station --help.
)
rem Only softsim gets the passphrase of the key, and only in its environment. cmd shows what is typed.
set "passphrase=!SOFTSIM_KEY_PASSPHRASE!"
set "SOFTSIM_KEY_PASSPHRASE="
if not defined passphrase find "ENCRYPTED" < "!KEY!" > nul 2>&1 && (
  set /p "passphrase=Passphrase of !KEY!, which this window shows: "
  cls
)
set "with="
call :rehearse
if not "!code!" == "0" (call :relay & rmdir /s /q "!scratch!" & exit /b !code!)
set "SOFTSIM_KEY_PASSPHRASE=!passphrase!"
softsim status -i "!PROFILES!" -k "!KEY!" -n 20 < nul > "!scratch!\lines" 2> "!scratch!\messages"
set "code=!ERRORLEVEL!"
set "SOFTSIM_KEY_PASSPHRASE="
call :relay
rem 3: no unused profile is left. Devices that have one can still be repeated.
if "!code!" == "3" if exist "!PROFILES!\*.json" set "code=0"
if not "!code!" == "0" (rmdir /s /q "!scratch!" & exit /b !code!)
set "wrong="
type nul >> "!RESULTS!" || set "wrong=!RESULTS!"
if defined LOG type nul >> "!LOG!" || set "wrong=!LOG!"
if defined wrong (echo Can't write !wrong!.>&2& rmdir /s /q "!scratch!" & exit /b 2)
for %%f in ("!RESULTS!") do if %%~zf == 0 >> "!RESULTS!" echo time,station,device,result
for /f "tokens=1,2" %%a in ('find "  unused  " ^< "!scratch!\lines"') do set "left=%%b"
call :say Station:   !STATION!
for %%f in ("!PROFILES!") do call :say Profiles:  %%~ff
for %%f in ("!KEY!") do call :say Key:       %%~ff
for %%f in ("!RECEIPT!") do call :say Receipts:  %%~ff
for %%f in ("!RESULTS!") do call :say Results:   %%~ff
if defined PORT (call :say Ports:     !PORT!) else call :say Program:   !PROGRAM!, panel of !PANEL!
rem This is left by a station that was closed: its devices that have not passed, and where their profiles were kept.
if exist "!unfinished!" for /f "usebackq tokens=1*" %%a in ("!unfinished!") do (
  if "%%a" == "scratch" (if exist "%%b\messages" rmdir /s /q "%%b") else (
    set "serial=%%b"
    call :state %%a
    call :unfinished !place!
  )
)

:panel
call :save
set "short="
if not "!PANEL!" == "1" if !left! lss !PANEL! set "short=yes"
if defined short (call :say WARNING: profiles left: !left!. Fetch more, or type skip for slots that get none.
) else if !left! leq !LOW_STOCK! (call :say WARNING: profiles left: !left!. Fetch more.
) else call :say Profiles left: !left!
:early
rem cmd can't discard what was typed or scanned too early: only Enter alone goes on.
set "early="
set /p "early=Put the next device in, then press Enter: "
if /i "!early!" == "exit" goto end
if defined early goto early
for /l %%s in (1,1,!PANEL!) do set "serial%%s="
set "slot=1"
:ask
set "place=" & if defined PORT set "place= at !port%slot%!"
set "question=Serial number of the device, or exit: "
if not "!PANEL!" == "1" set "question=Serial number of device !slot! of !PANEL!!place!, or skip, or exit: "
set "serial="
set /p "serial=!question!"
:trim
if defined serial if "!serial:~-1!" == " " (set "serial=!serial:~0,-1!" & goto trim)
if defined serial if "!serial:~0,1!" == " " (set "serial=!serial:~1!" & goto trim)
if not defined serial (
  set /a blank += 1 > nul
  if !blank! geq 20 goto end
  call :say Nothing was read. Is the label blank?
  goto ask
)
set "blank=0" & set "wrong="
if /i "!serial!" == "exit" goto end
if /i "!serial!" == "skip" if not "!PANEL!" == "1" goto asked
for %%w in (skip yes no quit help) do if /i "!serial!" == "%%w" set "wrong=word"
if defined wrong (call :say !serial! is not a serial number. To end the shift, type exit.& goto ask)
for /f "eol=A delims=:/#+%names%" %%c in ("!serial!") do set "wrong=%%c"
rem cmd takes an exclamation mark out of %%c.
for /f "tokens=1* delims=^!" %%a in ("x!serial!x") do if not "%%b" == "" set "wrong=mark"
if not "!serial:~0,128!" == "!serial!" set "wrong=long"
if defined wrong (call :say This is not a serial number of a device.& goto ask)
for /l %%s in (1,1,!PANEL!) do call :compare_serial %%s
if defined wrong (call :say Device !serial! is in this panel already.& goto ask)
rem softsim refuses a serial number, such as NOREAD.
set "with=--device="!serial!""
call :rehearse
if not "!code!" == "0" (
  call :relay
  find "softsim: error: the value of --device " < "!scratch!\messages" > nul || goto end
  call :say Nothing was programmed: scan again.
  set "code=0"
  goto ask
)
set "before=!at!"
call :receipt
if not defined at set "at=!before!"
find """!serial!"",pass" < "!RESULTS!" > nul && goto question
rem It has a profile: if it did not fail here, the results may be gone, or be another station's.
find "softsim: device !serial! already has " < "!scratch!\messages" > nul || goto unpassed
set "last="
for /f "delims=" %%l in ('find """!serial!""," ^< "!RESULTS!"') do set "last=%%l"
if "!last:~-5!" == ",fail" goto unpassed
if "!last:~-5!" == "ished" goto unpassed
:question
set "answer="
set /p "answer=Device !serial! is already programmed. Is it this device? Type yes to program it again, or no: "
if "!answer!" == "yes" goto known
if "!answer!" == "exit" goto end
if "!answer!" == "no" set "answer="
if not defined answer goto ask
rem The label of the next device. In a panel, nobody knows of which slot.
if "!PANEL!" == "1" (set "serial=!answer!" & goto trim)
call :say Type yes or no.
goto question
:unpassed
if not defined iccid goto fresh
:known
rem A directory that has forgotten a device would give it a second profile. A disk that is not there has forgotten nothing.
softsim status -i "!PROFILES!" --device="!serial!" < nul > nul 2> "!scratch!\messages"
set "code=!ERRORLEVEL!"
if "!code!" == "0" goto fresh
set "from="
if "!code!" == "3" if exist "!PROFILES!\*.json" call :lot
if defined from (
  call :say Device !serial! has a profile from another directory: program it from !from!.
  set "code=0"
  goto ask
)
call :relay
if "!code!" == "3" if exist "!PROFILES!\*.json" (
  set "code=10"
  call :say Device !serial! has a profile that this directory does not know. Is the directory from a backup?
  call :say Stop all its stations. Then, with the receipts of ALL stations and moves: softsim restore -i "!PROFILES!" --receipts "!RECEIPT!" OTHERS...
)
goto end
:fresh
set "serial!slot!=!serial!"
call :state scanned
call :save
:asked
set /a slot += 1 > nul
if !slot! leq !PANEL! goto ask

rem One call takes the profiles of the panel: all or none, in the order of the slots.
set "devices=" & set "count=0" & set "slot=0"
for /l %%s in (1,1,!PANEL!) do if defined serial%%s call :open %%s
if "!count!" == "0" goto panel
call :save
echo These devices are not finished until the next lines say so. If this window closes, scan them again.
set "SOFTSIM_KEY_PASSPHRASE=!passphrase!"
softsim next -v -k "!KEY!" -i "!PROFILES!"!devices! --receipt="!RECEIPT!" < nul > "!scratch!\lines" 2> "!scratch!\messages"
set "code=!ERRORLEVEL!"
set "SOFTSIM_KEY_PASSPHRASE="
call :relay
rem Nothing is claimed.
set "unclaimed="
for %%c in (2 3 4 10) do if "!code!" == "%%c" set "unclaimed=yes"
if defined unclaimed for /l %%s in (1,1,!PANEL!) do if defined serial%%s call :untake %%s
if not "!code!" == "0" goto end
for /f "tokens=4" %%n in ('find "softsim: at most " ^< "!scratch!\messages"') do set "left=%%n"
find "softsim: no other known unused profile" < "!scratch!\messages" > nul && set "left=0"
for /f "usebackq delims=" %%l in ("!scratch!\lines") do (
  set "line=%%l"
  call :frame
)
del "!scratch!\lines"
if not "!count!" == "0" (call :say softsim has not printed a profile for each device.& set "code=1" & goto end)
if defined PORT for /l %%s in (1,1,!PANEL!) do if defined serial%%s call :send %%s
for /l %%s in (1,1,!PANEL!) do if defined serial%%s call :judge %%s
if "!code!" == "0" goto panel

:end
set "why=End of the shift"
if not "!code!" == "0" set "why=Stopped with exit code !code!"
if "!code!" == "3" if exist "!PROFILES!\*.json" (set "why=Too few profiles are left") else set "why=There are no profiles in !PROFILES!"
if "!code!" == "10" set "why=The directory is a copy, or from a backup" & set "next=scan it when the directory is restored"
call :say !why!: !passed! passed, !failed! failed, !repeated! repeated, !left! profiles left.
for /l %%k in (1,1,!most!) do if defined begun%%k call :unfinished %%k
rmdir /s /q "!scratch!"
call :save
exit /b !code!

:check_number
set "wrong="
for /f "eol=0 delims=0123456789" %%c in ("!%1!") do set "wrong=%%c"
if "!%1:~0,1!" == "0" if not "!%1!" == "0" set "wrong=octal"
if not "!%1:~0,8!" == "!%1!" set "wrong=long"
if not defined wrong exit /b 0
echo %1=!%1! is not a number.>&2
exit /b 1

rem Gives the next slot of the panel to a port. Two profiles would go to one device if a port were named twice.
:name_port
set /a PANEL += 1 > nul
set "port!PANEL!="
set "wrong="
for /l %%s in (1,1,!PANEL!) do call :compare_port %%s %1
if defined wrong (echo %~1 is named twice.>&2& exit /b 1)
set "port!PANEL!=%~1"
call :mode %~1 && exit /b 0
echo %~1 is not a serial port. Check the cable.>&2
exit /b 1
:mode
mode %1: BAUD=!BAUD! PARITY=n DATA=8 STOP=1 to=off xon=off odsr=off octs=off > nul
exit /b !ERRORLEVEL!

rem Adds the device of a slot to the call of softsim, unless its cable is unplugged.
:open
set "serial=!serial%1!"
if defined PORT call :mode !port%1! || (
  call :say !port%1! is not a serial port. Check the cable. Device !serial! is left out.
  set "serial%1="
  exit /b
)
set "devices=!devices! --device="!serial!"" & set /a count += 1 > nul
call :state started
exit /b
:untake
set "serial=!serial%1!"
call :state scanned
exit /b

rem Whether softsim would begin with a call: not in a copy, or for a serial number such as NOREAD.
:rehearse
set "SOFTSIM_KEY_PASSPHRASE=!passphrase!"
softsim next --dry-run -k "!KEY!" -i "!PROFILES!" --receipt="!RECEIPT!" !with! < nul 2> "!scratch!\messages"
set "code=!ERRORLEVEL!"
set "SOFTSIM_KEY_PASSPHRASE="
exit /b

rem Shows what softsim has said. Its hints name the settings of this script in place of options.
:relay
for %%w in (error warning hint) do for /f "delims=" %%l in ('find "softsim: %%w: " ^< "!scratch!\messages"') do (
  set "line=%%l"
  set "line=!line:check -k=check KEY!"
  set "line=!line:check -i=check PROFILES!"
  set "line=!line:check --receipt=check RECEIPT!"
  echo !line:mean -i =mean PROFILES=!>&2
)
if defined LOG type "!scratch!\messages" >> "!LOG!"
exit /b
:help
for /f "delims=" %%l in ('findstr /b ":::" "%~f0"') do (set "line=%%l" & echo(!line:~4!)
exit /b 0

rem Writes a line of softsim, in its frame, for the next slot that has a device.
:frame
set /a slot += 1 > nul
if !slot! gtr !PANEL! exit /b
if not defined serial!slot! goto frame
set /a count -= 1 > nul
if defined SEND (> "!scratch!\!slot!" echo !SEND:%%s=%line%!) else > "!scratch!\!slot!" echo !line!
exit /b

rem Finds out whether the device of a slot is programmed, and writes it down.
:judge
set "serial=!serial%1!"
call :receipt
if "!again!" == "true" set /a repeated += 1 > nul
if not defined iccid set "iccid=unknown"
if defined PORT goto judge_port
set "SLOT=%1" & set "DEVICE=!serial!"
if defined READ (
  cmd /d /c call "!PROGRAM!" < "!scratch!\%1" > "!scratch!\said"
) else cmd /d /c call "!PROGRAM!" < "!scratch!\%1"
set "ended=!ERRORLEVEL!"
del "!scratch!\%1"
if not "!ended!" == "0" goto fail
if not defined READ goto pass
find "!READ!" < "!scratch!\said" > "!scratch!\iccids" || (call :say !PROGRAM! does not name the ICCID of device !serial!.& goto fail)
set "other="
for /f "usebackq delims=" %%i in ("!scratch!\iccids") do (set "said=%%i" & call :compare_iccid)
if not defined other goto pass
goto other
:judge_port
del "!scratch!\%1"
set "answer="
set /p "answer=Has device !serial! accepted the profile? Type yes or no: "
if not "!answer!" == "yes" goto fail
if not defined READ goto pass
set "other="
set /p "other=Which ICCID does device !serial! have now? "
if "!other!" == "!iccid!" goto pass
:other
call :say Device !serial! got !iccid!, but has another ICCID: it may have another identity. Do not ship it.
:fail
call :result fail || exit /b
set /a failed += 1 > nul
call :state failed
call :say Device !serial! failed. Scan it again to repeat: it gets the same profile.
exit /b
:pass
call :result pass || exit /b
set /a passed += 1 > nul
call :state
call :save
call :say Device !serial! is programmed.
exit /b

rem The newest receipt of the device. cmd has no time in UTC; that of the receipt is used.
:receipt
set "at=" & set "iccid=" & set "again="
if exist "!RECEIPT!" for /f "tokens=1,4,* delims={}," %%a in ('find """device"":""!serial!""," ^< "!RECEIPT!"') do (
  set "at=%%a" & set "iccid=%%b" & set "again=%%c"
)
if not defined at exit /b
set "at=!at:~8,-1!" & set "iccid=!iccid:~9,-1!" & set "again=!again:~-5,4!"
exit /b

rem The directory of the newest receipt of the device, if it is there and is another one.
:lot
for /f "delims=" %%l in ('find """device"":""!serial!""," ^< "!RECEIPT!"') do set "line=%%l"
set "line=!line:*"directory":"=!"
for /f delims^=^" %%d in ("!line!") do for %%f in ("%%d") do if exist "%%~ff\" set "from=%%~ff"
for %%f in ("!PROFILES!") do if /i "%%~ff" == "!from!" set "from="
exit /b

:result
if not defined at if "%1" == "unfinished" exit /b 0
>> "!RESULTS!" echo !at!,!STATION!,"!serial!",%1&& exit /b 0
echo Can't write !RESULTS!.>&2
set "code=9"
exit /b 1

rem Remembers the state of a device until it has passed.
:state
set "place="
for /l %%k in (1,1,!most!) do if not defined begun%%k set "place=%%k"
for /l %%k in (1,1,!most!) do call :compare_begun %%k
if not defined place set /a most += 1 > nul & set "place=!most!"
if "%1" == "" (set "begun!place!=") else (set "begun!place!=!serial!" & set "state!place!=%1")
exit /b

rem If this window is closed meanwhile, the old file or the new one is there.
:save
> "!unfinished!.new" echo scratch !scratch!
set "open="
for /l %%k in (1,1,!most!) do if defined begun%%k call :save_device %%k
if defined open (
  move /y "!unfinished!.new" "!unfinished!" > nul || type "!unfinished!.new" >> "!unfinished!"
) else del "!unfinished!.new" "!unfinished!" 2> nul
exit /b
:save_device
set "open=yes"
>> "!unfinished!.new" echo !state%1! !begun%1!
exit /b

rem A variable whose name has a number: only %1 works for it in all versions of cmd.
:compare_serial
if "!serial%1!" == "!serial!" set "wrong=yes"
exit /b
:compare_port
if /i "!port%1!" == "%~2" set "wrong=yes"
exit /b
:compare_begun
if "!begun%1!" == "!serial!" set "place=%1"
exit /b
:compare_iccid
if "!said:%iccid%=!" == "!said!" set "other=yes"
exit /b
:send
type "!scratch!\%1" > "\\.\!port%1!"
exit /b
:unfinished
set "serial=!begun%1!"
if "!state%1!" == "started" call :receipt & call :result unfinished & call :state failed
if "!state%1!" == "scanned" (call :say Device !serial! was scanned, but not programmed: !next!.& exit /b)
call :say Device !serial! is not finished: !next!.
exit /b

:say
echo %*
if defined LOG >> "!LOG!" echo !at! %*
exit /b
