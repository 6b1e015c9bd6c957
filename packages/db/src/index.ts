// The database: pool, transactions, signals after commit, LISTEN, migrations. No business rules.
export { openDatabase } from './pool.ts';
export type { Database, PoolStats } from './pool.ts';
export type { Tx } from './tx.ts';
export { writeAtCommit } from './commit-statements.ts';
export type { Statement } from './batch.ts';
export type { CommitStatement } from './transaction-state.ts';
export { sideConnectionOf } from './side-connection.ts';
export { together } from './together.ts';
export { databaseNow, loneWrite, savepoint, takeTime, transaction } from './transaction.ts';
export { signal } from './signals.ts';
export { signalChannels, WILDCARD } from './signal-channels.ts';
export type { SignalChannel } from './signal-channels.ts';
export { createNotifier } from './notifier.ts';
export type { Notifier } from './notifier.ts';
export { createListener } from './listener.ts';
export type { Listener } from './listener.ts';
export {
  assertNotRestoring,
  isRestoring,
  migrate,
  migrationHashes,
  migrationsFolder,
  migrationStatus,
  RESTORE_NOTE,
} from './migrate.ts';
export {
  completeFrom,
  deleteCostTotals,
  deleteRunTotals,
  holdDayTotals,
  mergeDayTotals,
  startOfDay,
} from './day-totals.ts';
export { copyIssueWords, WORDS_ARE_COPIED } from './copy-issue-words.ts';
export { partitionEvents } from './partition-events.ts';
export { partitionTranscripts } from './partition-transcripts.ts';
export { dropExpiredPartition, endTimePartition, partitionByTime } from './time-partitions.ts';
export type { TimedTable } from './time-partitions.ts';
export { fixedForms, fixedStatement } from './fixed-statement.ts';
export { inOrder } from './in-order.ts';
export { rowsOf } from './insert-rows.ts';
export { closeConnection } from './close-connection.ts';
export { watchForSilence } from './silence.ts';
export { lockByName } from './lock-by-name.ts';
export {
  asServiceError,
  isConnectionError,
  isLockTimeout,
  isMissingTable,
  isRefusal,
  isUniqueViolation,
} from './errors.ts';
export { storedFileTables } from './stored-files.ts';
export { storedNow } from './stored-now.ts';
export { waitBriefly } from './wait-briefly.ts';
export { byCreation, MOST_ROWS, newestFirst, oldestFirst } from './newest-first.ts';
export type { Page, PageRequest } from './newest-first.ts';
export { containing } from './containing.ts';
export type { SearchRequest } from './containing.ts';
export { instantText, jsonRowReader, rowReader } from './row-reader.ts';
export type { JsonRow } from './row-reader.ts';
export { PAGE_BYTES, readWithinBytes, withinBytes } from './page-bytes.ts';
export {
  actionableIssueStatuses,
  hasStatus,
  liveRunStatuses,
  openTaskStatuses,
  terminalIssueStatuses,
  wakeableAgentStatuses,
} from './status-lists.ts';
export { issueText, priorityWeight, titleOrder } from './issue-orders.ts';
export * as schema from './schema/index.ts';
