/**
 * Agents of the company as others call them by the agent-to-agent protocol, and peers whose agents are called from here. Owns
 * `a2a_tasks` and `a2a_messages`, and `a2a_peers`, `a2a_delegations` and `a2a_calls`. A task is an issue; only what an issue
 * lacks (conversation, message ids) is stored separately.
 * Invariants: a task belongs to exactly one agent; a message sent again changes nothing; a client sees what agents say on the
 * issue, never what people of the company say to each other.
 */
export { availableAgent, availableAgents } from './available-agents.ts';
export type { AvailableAgent } from './available-agents.ts';
export { depthMetadata } from './client.ts';
export { cancelTask } from './cancel-task.ts';
export { listTasks, readTask } from './read-tasks.ts';
export type { Task, TaskQuery } from './read-tasks.ts';
export { agentCommentsAfter, taskHistory } from './task-history.ts';
export { MAX_TASK_ARTIFACTS, taskArtifacts } from './task-artifacts.ts';
export type { TaskArtifact } from './task-artifacts.ts';
export { artifactEvent, parseTaskState, statusEvent, writeSendResult, writeTask } from './dialect.ts';
export type { Dialect, ShownTask, Writer } from './dialect.ts';
export { createPeer, deletePeer, findPeer, listPeers, peerKey, presentPeer, updatePeer } from './peers.ts';
export type { PeerRow } from './peers.ts';
export { claimDuePeers, recordFetch, takeCall } from './peer-health.ts';
export { deletePeerCallsBefore, listDelegations, listPeerCalls, recordCall } from './peer-calls.ts';
export { delegate, peerAgentNamed, peerAgents } from './delegate.ts';
export type { FoundPeerAgent } from './delegate.ts';
export { claimDelegations, isSamePlace } from './claim-delegations.ts';
export type { DelegationRow } from './claim-delegations.ts';
export { applyRemote, endDelegation, postponeDelegation, recordFailure } from './delegations.ts';
export type { RemoteState } from './delegations.ts';
export { commentsToForward } from './forwarded-comments.ts';
export { readCard } from './read-card.ts';
export { listPushConfigs, putPushConfig, removePushConfig, taskSecret } from './push-configs.ts';
export { mayBeNotified, pushBodies } from './push-bodies.ts';
export { receiveMessage } from './receive-message.ts';
export { closeNotifications, openNotifications, takeNotification } from './notifications.ts';
export type { Notification } from './notifications.ts';
