/**
 * The first kind of run: an agent is woken and works on an issue, or on nothing in particular. Owns no table: the runs that
 * an agent should have now follow from its wakeups and issues, and a run's effects on them are in `heartbeat-kind.ts`.
 * Invariant: every heartbeat is admitted by `admitHeartbeats`.
 */
export { dispatchAgent } from './dispatch-agent.ts';
export { FINDINGS, type FindingsFacts, findingsFacts, findingsKind, proposeFindings } from './findings.ts';
export { HEARTBEAT, heartbeatKind, issueKey } from './heartbeat-kind.ts';
export { invokeAgent, triggerIssue } from './invoke.ts';
export { promptFacts } from './prompt-facts.ts';
export type * from './prompt-types.ts';
export { settleAgent, settleCompany, settleIssue } from './settle.ts';
export { sweepUnsettled } from './sweep-unsettled.ts';
