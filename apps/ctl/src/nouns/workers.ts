import { type AdminWorker, createValidator, CreateWorker } from '@acp/contract';
import { createWorker, listAdminWorkers, moveWorker, systemActor, type WorkerMove } from '@acp/core';
import { transaction } from '@acp/db';
import { type Answer, type Command, type CommandContext, option, table, UsageError } from '../command.ts';

const operator = systemActor('operator');
const columns = ['id', 'name', 'status', 'online', 'tags', 'running', 'version', 'last_seen_at'];
const LARGEST_PAGE = 200;
const newWorker = createValidator(CreateWorker, 'worker');

async function everyWorker({ database, options }: CommandContext) {
  const found: AdminWorker[] = [];
  let cursor: string | undefined;
  do {
    const page = await listAdminWorkers(database.db, {
      status: options.status,
      limit: LARGEST_PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

async function list(context: CommandContext): Promise<Answer> {
  const workers = await everyWorker(context);
  return { value: workers, text: table(workers, columns) };
}

/** By id, or by name if it is unique. */
async function namedWorker(context: CommandContext): Promise<string> {
  const given = option(context, 'worker');
  const [found, ...more] = (await everyWorker(context)).filter(
    ({ id, name }) => id === given || name === given,
  );
  if (found === undefined) throw new UsageError(`no worker has the id or name ${given}`);
  if (more.length > 0) throw new UsageError(`${more.length + 1} workers are called ${given}: use the id`);
  return found.id;
}

async function create(context: CommandContext): Promise<Answer> {
  const tags = (context.options.tags ?? '')
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  const input = newWorker({ name: option(context, 'name'), tags });
  const created = await transaction(context.database, async (tx) => createWorker(tx, operator, input));
  return {
    value: created,
    text: `created worker ${created.worker_id}; its key, shown this once: ${created.api_key}`,
  };
}

const move = (verb: WorkerMove, doc: string): Command => ({
  usage: `workers ${verb} --worker <id or name>`,
  doc,
  required: ['worker'],
  async run(context) {
    const id = await namedWorker(context);
    const worker = await transaction(context.database, async (tx) => moveWorker(tx, operator, id, verb));
    return { value: worker, text: `worker ${worker.name} is ${worker.status.replace('_', ' ')}` };
  },
});

export const workers: Record<string, Command> = {
  list: {
    usage: 'workers list [--status <comma list>]',
    doc: 'Lists remote workers with their tags and load.',
    optional: ['status'],
    run: list,
  },
  create: {
    usage: 'workers create --name <text> [--tags <comma list>]',
    doc: 'Creates an approved worker and prints its key once.',
    required: ['name'],
    optional: ['tags'],
    run: create,
  },
  approve: move('approve', 'Approves a worker that is waiting for approval.'),
  reject: move('reject', 'Rejects a worker that is waiting for approval.'),
  disable: move('disable', 'Disables a worker; its tasks return to the queue.'),
  enable: move('enable', 'Enables a disabled worker.'),
  drain: move('drain', 'Stops giving a worker new tasks.'),
  undrain: move('undrain', 'Gives a draining worker tasks again.'),
};
