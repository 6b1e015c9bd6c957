/**
 * Owns `activity` (the companies' audit trail), `instance_audit` (the instance's) and `outbox` (events waiting for the
 * sequencer). Every mutation ends with one statement that writes activity and outbox, so entry and event are committed with the
 * change or not at all.
 */
export {
  actorColumns,
  actorId,
  actorType,
  assertCauseDepth,
  causeDepth,
  humanActor,
} from './actor-columns.ts';
export { recordChanges } from './record-changes.ts';
export { deleteInstanceActsBefore, recordInstanceAct } from './record-instance-act.ts';
export type { Change } from './record-changes.ts';
export { deletersOf } from './deleters.ts';
export { countOfDay, issueActivity, listActivity } from './list-activity.ts';
/** For parts of the service; it has every right. */
export const systemActor = (name: string) => ({ kind: 'system', name }) as const;
/** For whatever something outside of the service says or causes. */
export const outsideActor = (name: string) => ({ kind: 'outside', name }) as const;
