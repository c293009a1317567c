/** The door of the store: what the other rooms may use. The law is in README.md. */
export { adoptUsed, flushBackup, putAside } from './aside.ts'
export {
  type By,
  begin,
  type Claim,
  clear,
  commit,
  giveBack,
  guarded,
  hold,
  letGo,
  perhapsNotPrinted,
  settle,
} from './claims.ts'
export {
  addResult,
  type DeviceRecord,
  folded,
  isTwin,
  makeRecords,
  type Result,
  recordOf,
  records,
  resultsOf,
  twinOf,
} from './devices.ts'
export { flushDirectory, flushFile, flushNames, isOnFat, read, readText, removeAll } from './files.ts'
export {
  copyFailure,
  disown,
  enter,
  identitiesOf,
  identityIn,
  identityOf,
  identityState,
  renewIdentity,
} from './identity.ts'
export {
  arrive as arriveIn,
  close as closeIn,
  finishAnswers,
  finishStick,
  type Given,
  give,
  givenIn,
  isOpen,
  makeTarget,
  type Noted,
  NotStored,
  ordersIn,
  putOrder,
  receive,
  release,
  request,
  type Waiting,
  waitingIn,
} from './incoming.ts'
export { knownIn, type Listing, leaveList, listHeld, look, Unused } from './listing.ts'
export {
  type Held,
  iccidOf,
  newTag,
  parseUsed,
  placesOf,
  stationName,
  tagFor,
  type Used,
  usedName,
} from './names.ts'
export { giveUp, isGivenUp, noteTarget, outgoingIn, removeNote } from './outgoing.ts'
export { openReceipt, type Receipt, type ReceiptFile, readReceipts } from './receipts.ts'
export { removeRubbish } from './rubbish.ts'
export { readUsed, refresh, type State, stateOf } from './state.ts'
