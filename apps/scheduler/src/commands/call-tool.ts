import { Actor, type CommandCatalogue, createValidator } from '@acp/contract';
import { transaction } from '@acp/db';
import { notFound } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { resolveInTime } from '../tools/resolve-in-time.ts';

/** Less than the deadline of the command, so that its caller learns who did not answer. */
const WITHIN_MS = 28_000;

const readActor = createValidator(Actor, 'actor');

/** The command `call-tool {name, input}`: both halves of a call, outside of a run. Rights are checked here again. */
export function callToolCommand({
  database,
  tools,
}: Pick<SchedulerContext, 'database' | 'tools'>): CommandHandlers<CommandCatalogue>['call-tool'] {
  return async ({ name, input }, { actor, company_id, command_id, signal }) => {
    if (company_id === null) throw notFound();
    const caller = { actor: readActor(actor), company_id, call_id: command_id };
    const { call, provider } = await resolveInTime(tools, database.db, [caller, name, input], signal);
    const prepared = await provider.prepare?.({ ...call, within_ms: WITHIN_MS }, signal);
    const answer =
      provider.commit === undefined
        ? prepared
        : await transaction(database, async (tx) => provider.commit?.(tx, call, prepared));
    return { answer: answer ?? null };
  };
}
