/**
 * Owns the tables of plugins: who may run what, and in which scheduler (specification, Plugin). Invariants: only the allowed copy
 * of the binary is run; a process has one owner, and each of its writes checks its fence; a transition is recorded in the events
 * log and in the audit along with the change itself.
 */
export { existingPlugins, findPlugin, presentPlugin } from './store.ts';
export type { PluginRow } from './store.ts';
export { createPlugin, deletePlugin, listInstancePlugins, listPlugins, updatePlugin } from './plugins.ts';
export {
  allowPlugin,
  approvedBinary,
  assertAllowable,
  banPlugin,
  refuseDecision,
  rescindBan,
  revertApproval,
} from './approval.ts';
export type { ApprovedBinary, Decision } from './approval.ts';
export {
  assertAllowlisted,
  assertApproved,
  assertMayStart,
  HASH_CHANGED,
  settleUnowned,
  requestPluginStop,
  requestPluginStart,
} from './start-stop.ts';
export {
  claimPlugin,
  deleteSilentHosts,
  leaveHosts,
  reportPluginHost,
  pluginEnded,
  pluginReady,
  renewHolds,
} from './holder.ts';
export type { PluginEnd, PluginHold } from './holder.ts';
export { endJobRun, deleteOldJobRuns, takeDueJobs } from './jobs.ts';
export type { DueJob } from './jobs.ts';
export { manifestOf } from './manifest.ts';
export {
  anyPluginStarting,
  countPluginWalls,
  isComing,
  listPluginAudit,
  listPluginEvents,
  listPluginJobs,
  listPluginTools,
  pluginHealth,
  ownTool,
  pluginJobs,
  toolsOf,
  webhookOwner,
  webhooksOf,
} from './read.ts';
export { appendPluginLines, deleteOldPluginEvents } from './log.ts';
export type { PluginLine } from './log.ts';
export { pluginCursor } from './cursor.ts';
export { kvOperations } from './kv.ts';
export { commentFor, readIssuesFor } from './issue-services.ts';
