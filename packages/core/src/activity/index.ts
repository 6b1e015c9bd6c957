/**
 * Owns `activity` (the companies' audit trail), `instance_audit` (the instance's) and `outbox` (events on their way to the sequencer): activity and outbox are written by the
 * one statement that every mutation ends with, so that the entry and the event stand or fall with the change.
 */
export { actorColumns, actorId, assertCauseDepth, causeDepth, humanActor } from './actor-columns.ts';
export { recordChanges } from './record-changes.ts';
export { recordInstanceAct } from './record-instance-act.ts';
export type { Change, PublishedEvent } from './record-changes.ts';
export { issueActivity, listActivity } from './list-activity.ts';
export const systemActor = (name: string) => ({ kind: 'system', name }) as const;
