import { PROMPT_VERSION, type WorkerRegistration, workerEndpoints as rows } from '@acp/contract';
import {
  addTaskEvents,
  completeTask,
  failTask,
  listWorkers,
  recordStopped,
  operatingPrompt,
  readControl,
  registerWorker,
  resolveBearer,
  resolveWorker,
  resumeWorker,
  verifyModuleToken,
} from '@acp/core';
import { sha256Hex, unauthenticated } from '@acp/kernel';
import { bearerToken, INVALID_KEY } from '../../http/auth.ts';
import { type Context, handle, type Route } from '../../http/handle.ts';

export const workerRoutes: Route[] = [
  handle(rows.register, register),
  handle(rows.heartbeat, async ({ subject, services, body }) =>
    services.fleet.heartbeat({ worker_id: subject.worker_id, running: body?.running ?? null }),
  ),
  handle(rows.claim, claim),
  handle(rows.complete, async ({ tx, subject, params, body }) =>
    completeTask(tx, subject, params.taskId!, body),
  ),
  handle(rows.fail, async ({ tx, subject, params, body }) =>
    failTask(tx, subject, params.taskId!, body.error),
  ),
  handle(rows.control, async ({ tx, subject, params, services }) => {
    const { cancel, task } = await readControl(tx, subject.worker_id, params.taskId!);
    if (cancel) await services.change(subject.worker_id, async (write) => recordStopped(write, task));
    return { cancel };
  }),
  handle(rows.events, async ({ tx, subject, params, body }) =>
    addTaskEvents(tx, subject, params.taskId!, body),
  ),
  handle(rows.operatingPrompt, ({ response }) => {
    response.setHeader('Content-Type', 'text/markdown; charset=utf-8');
    response.setHeader('X-Prompt-Version', PROMPT_VERSION);
    response.end(operatingPrompt);
  }),
  handle(rows.verifyModuleToken, async ({ tx, body, services }) =>
    verifyModuleToken(tx, services.vault, body.token),
  ),
  handle(rows.list, async (c) => {
    const { items, next_cursor } = await listWorkers(c.tx, c.query);
    c.nextPage(next_cursor);
    return items;
  }),
];

async function claim(c: Context<typeof rows.claim>) {
  const task = await c.services.fleet.claim(c.subject, c.body?.tags);
  if (task === undefined) c.status(204);
  return task;
}

/**
 * A worker's key resumes that worker and a valid key of another kind is refused; without a key, or with an unknown one, a
 * new worker is created (specification, Registration rules).
 */
async function register(c: Context<typeof rows.register>): Promise<WorkerRegistration> {
  const { services, body = {}, request } = c;
  const key = bearerToken(request.headers.authorization);
  const key_hash = key === undefined ? undefined : sha256Hex(key);
  const known = key_hash === undefined ? undefined : await resolveWorker(c.tx, key_hash);
  if (known !== undefined) {
    const worker = await services.change(known.worker_id, async (tx) =>
      resumeWorker(tx, known.worker_id, body),
    );
    c.status(200);
    return { worker_id: worker.id, ...registrationOf(worker), tags: worker.tags };
  }
  if (key_hash !== undefined && (await resolveBearer(c.tx, key_hash)) !== undefined)
    throw unauthenticated(INVALID_KEY);
  services.instance.requireEntitlement({ ...rows.register, while_read_only: undefined });
  const { worker, raw_key: api_key } = await services.transaction(async (tx) =>
    registerWorker(tx, body, services.fleet.registration),
  );
  const registration = registrationOf(worker);
  return {
    worker_id: worker.id,
    api_key,
    ...registration,
    ...(registration.operating_prompt ? { tags: worker.tags } : {}),
  };
}

/** A worker that waits for approval does not learn the contract. */
function registrationOf({ status }: { status: string }) {
  if (status === 'pending_approval') return { status } as const;
  const drains = status === 'draining';
  return {
    status: drains ? ('draining' as const) : ('approved' as const),
    operating_prompt: operatingPrompt,
    prompt_version: PROMPT_VERSION,
  };
}
