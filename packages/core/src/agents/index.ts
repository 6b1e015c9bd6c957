/**
 * Owns agents, their runtime state, keys, configuration revisions and prompt versions.
 * Invariants: a trashed agent counts as absent; only runs set `running`; `next_heartbeat_at` is set exactly while the heartbeat
 * is on; no key outlives its agent; no one reports to themselves, even indirectly.
 * Whatever a finished agent leaves in later slices (runs, checkouts, wakeups) is ended by the job `settle-agent`.
 */
export { agentNamed, findAgent, listAgents, pageOfAgents, runtimeState } from './read-agents.ts';
export { assertAdapter, namesOutside } from './adapter-rules.ts';
export type { AdapterRules } from './adapter-rules.ts';
export { assertHome, homeOf } from './agent-home.ts';
export {
  type AgentOutline,
  agentOutlinesById,
  findAgentOutlines,
  listAgentOutlines,
} from './agent-outlines.ts';
export { agentHome, agentPlace, agentsAmong, clearSession, placesOfIdleAgents } from './agent-place.ts';
export { isCompanyAdmin } from './policy.ts';
export { isAbove, lockToTeach } from './reach.ts';
export { lockAgent } from './family-pause.ts';
export { assertMayRunAs } from './placement.ts';
export { agentPermissions, updatePermissions } from './permissions.ts';
export { activatePrompt, addEvolvedPrompt, listConfigRevisions, listPromptVersions } from './revisions.ts';
export type { AgentPlace, KeptPlace, StoredSession } from './agent-place.ts';
export { directReports, orgTree } from './org-tree.ts';
export { updateAgentDefaults } from './update-defaults.ts';
export { createAgent } from './create-agent.ts';
export { pauseAgent, resumeAgent, updateAgent } from './update-agent.ts';
export { insertAgents } from './insert-agents.ts';
export type { NewAgent } from './insert-agents.ts';
export { deleteAgent } from './delete-agent.ts';
export { hasAgentEnded, purgeAgent, restoreAgent } from './restore-agent.ts';
export {
  createAgentKey,
  deleteAgentKey,
  findAgentKey,
  listAgentKeys,
  mintRunKey,
  mintRunKeys,
  newKeyMaterial,
  revokeAgentKeys,
  settleAgentKeysOf,
  revokeRunKeys,
  standingAgentKeys,
  mayMintKeys,
} from './keys.ts';
export { warnOfExpiringKeys } from './expiring-keys.ts';
export { endedKeys, findBearer, markKeysUsed, resolveBearer } from './resolve-bearer.ts';
export { defaultPrompt } from './role-prompts.ts';
export { presentAgent } from './present.ts';
export type { AgentRow } from './present.ts';
export {
  agentBefore,
  agentStartedChange,
  markAgentsRunning,
  noteRunEnded,
  noteRunRefused,
} from './note-run.ts';
export type { AgentBefore, SessionChange } from './note-run.ts';
export { dueHeartbeats } from './heartbeat.ts';
export { isWakeable } from './status.ts';
export {
  BUDGET_EXCEEDED,
  budgetHeld,
  holdingIncidentIds,
  clearBudgetErrors,
  budgetWindowStart,
  mayContinue,
  scopesOfAgent,
  settleBudgetPauses,
} from './budget-hold.ts';
export { terminateAgent } from './terminate-agent.ts';
