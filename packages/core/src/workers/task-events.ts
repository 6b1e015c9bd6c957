import {
  createValidator,
  type EgressRefusal,
  ReportedRefusals,
  type RunEventKind,
  type TaskEvents,
  type WorkerActor,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import { cutText, mapTexts, tooLarge } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordRefusals } from '../egress/index.ts';
import { type NewRunEvent, noteOnHandedOverRun } from '../runs/index.ts';
import { ownTask, taskHasEnded } from './own-task.ts';
import { withoutCredentials } from './without-credentials.ts';

type TaskEvent = TaskEvents['events'][number];

/** The service and its pages take these for its own word. */
const OWN: readonly string[] = ['status', 'action'] satisfies RunEventKind[];
const KIND = /^[A-Za-z0-9][\w.:-]{0,63}$/;

const readRefused = createValidator(ReportedRefusals, 'refused');

/** Limit per task, as JSON. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Limit per text of an entry, in bytes; the rest is cut off. */
const MAX_TEXT = 64 * 1024;

/**
 * Appends to the transcript of the task's run, in the given order, continuing its numbering.
 * @throws notFound like `ownTask`; conflict once the task has ended; tooLarge for more than a transcript may contain
 */
export async function addTaskEvents(
  tx: Tx,
  worker: WorkerActor,
  task_id: string,
  { events }: TaskEvents,
): Promise<void> {
  const task = await ownTask(tx, worker.worker_id, task_id);
  if (task.status !== 'claimed' && task.status !== 'cancel_requested') throw taskHasEnded(task.status);
  if (events.length === 0) return;
  const entries = events.map(entryOf);
  const bytes = Buffer.byteLength(JSON.stringify(entries));
  // What is written and then rolled back takes as much of the disk: a worker may send it again and again.
  if (task.transcript_bytes + bytes > MAX_BYTES) throw full();
  if (!(await noteOnHandedOverRun(tx, task.run.id, entries))) throw taskHasEnded('ended meanwhile');
  await recordRefusals(tx, { company_id: task.company_id, run_id: task.run.id }, events.flatMap(refusedIn));
  const { rowCount } = await tx.execute(sql`
    update remote_tasks set transcript_bytes = transcript_bytes + ${bytes}
    where id = ${task_id} and worker_id = ${worker.worker_id} and transcript_bytes + ${bytes} <= ${MAX_BYTES}`);
  if (rowCount === 0) throw full();
}

const full = () => tooLarge('the transcript of the task is full');

/** Anything else that it may contain is only text of the transcript. */
function refusedIn({ kind, payload }: TaskEvent): EgressRefusal[] {
  const { refused } = objectOf(payload);
  if (kind !== 'log' || refused === undefined) return [];
  try {
    return readRefused(refused).map((each) => ({ ...each, door: 'program' }));
  } catch {
    return [];
  }
}

function entryOf({ kind, payload }: TaskEvent): NewRunEvent {
  const clean = mapTexts(objectOf(payload), cleaned) as Record<string, unknown>;
  return KIND.test(kind) && !OWN.includes(kind)
    ? { kind, payload: clean }
    : { kind: 'log', payload: { event: cleaned(kind), ...clean } };
}

function objectOf(payload: unknown): Record<string, unknown> {
  if (payload === undefined || payload === null) return {};
  if (typeof payload === 'string') return { text: payload };
  return typeof payload === 'object' && !Array.isArray(payload)
    ? (payload as Record<string, unknown>)
    : { value: payload };
}

function cleaned(text: string): string {
  return cutText(withoutCredentials(text), MAX_TEXT);
}
