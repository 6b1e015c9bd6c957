import type { Actor } from '@acp/contract';
import { signal, type Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { recordChanges, recordInstanceAct } from '../activity/index.ts';
import { settleAgentKeysOf } from '../agents/index.ts';
import {
  type Leaving,
  type LeftCredential,
  personBehind,
  settleBoardUserKeysOf,
} from '../companies/index.ts';
import { settleTriggersOf } from '../routines/index.ts';
import { recordSecurityEvents } from '../security/index.ts';
import { settleWebhooksOf } from '../webhooks/index.ts';
import { settleWorkersOf } from '../workers/index.ts';
import { settleRepositoryWebhooksOf } from '../workspaces/index.ts';

interface Departing {
  user_id: string;
  /** Null: rights were lost in all companies. */
  company_id: string | null;
  keep_keys: boolean;
  /** The account has passed to the owner of its address: everything ends. */
  claimed?: boolean;
}

/**
 * Ends whatever the user could not create any more, or has the actor answer for it from now on. Called after the rights have
 * changed, in the same transaction, with the account locked. @returns how many
 * @throws forbidden for a person, or a key of that person, that wants to keep its own
 */
export async function settleCredentials(
  tx: Tx,
  actor: Actor,
  { user_id, company_id, keep_keys, claimed }: Departing,
): Promise<number> {
  const heir = keep_keys ? await personBehind(tx, actor) : undefined;
  // Otherwise whoever leaves could keep a way back in.
  if (heir === user_id) throw forbidden('only someone else can keep your keys');
  const leaving: Leaving = { user_id, company_id, heir, claimed };
  const left = [
    ...(await settleBoardUserKeysOf(tx, leaving)),
    ...(await settleAgentKeysOf(tx, leaving)),
    ...(await settleTriggersOf(tx, leaving)),
    ...(await settleWebhooksOf(tx, leaving)),
    ...(await settleRepositoryWebhooksOf(tx, leaving)),
    ...(company_id === null ? await settleWorkersOf(tx, leaving) : []),
  ];
  if (!keep_keys) for (const { kind, id } of left) if (isKey(kind)) signal(tx, 'departures', id);
  await record(tx, actor, user_id, keep_keys ? 'kept' : 'ended', left);
  return left.length;
}

const isKey = (kind: LeftCredential['kind']): boolean => kind === 'board_user_key' || kind === 'agent_key';

/** In the activity of each company, for workers in that of the instance, and in the security log. */
async function record(
  tx: Tx,
  actor: Actor,
  user_id: string,
  verb: 'ended' | 'kept',
  left: readonly LeftCredential[],
): Promise<void> {
  if (left.length === 0) return;
  await recordChanges(
    tx,
    actor,
    left.flatMap(({ kind, id, company_id, label }) =>
      company_id === null
        ? []
        : [
            {
              company_id,
              action: `${kind}.${verb}`,
              entity_type: kind,
              entity_id: id,
              details: { label, user_id },
            },
          ],
    ),
  );
  const workers = left.filter(({ company_id }) => company_id === null).map(({ label }) => label);
  if (workers.length > 0) await recordInstanceAct(tx, actor, `workers.${verb}`, { user_id, workers });
  await recordSecurityEvents(
    tx,
    left.map(({ kind, id, company_id, label }) => ({
      kind: `key.${verb}` as const,
      key_id: id,
      company_id,
      user_id,
      subject: label,
      details: { kind, by: actor.name },
    })),
  );
}
