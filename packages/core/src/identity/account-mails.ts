/** Records of account mails, for rate limiting: no one can have the instance mail someone endlessly. */
import { lockByName, schema, type Tx } from '@acp/db';
import { asciiLowerCase } from '@acp/kernel';
import { and, count, eq, gt, isNull, lt, type SQL, sql } from 'drizzle-orm';
import type { SignInPlace } from '../security/index.ts';

const { account_mails } = schema;

/** Per hour: confirmation links, counted by account and by recipient. */
const CONFIRMATIONS = 5;
/** Per hour: requests from one client address, whoever they concern; people behind one address share it. */
const REQUESTS_FROM_ADDRESS = 10;
/** Per hour: to one recipient. Further requests are accepted without effect. */
const RESETS_TO_RECIPIENT = 3;

/** False if the account or recipient is over its limit. Requests for one recipient are serialised. */
export async function reserveConfirmation(tx: Tx, user_id: string, email: string): Promise<boolean> {
  const recipient = asciiLowerCase(email);
  await lock(tx, recipient);
  const purpose = eq(account_mails.purpose, 'confirm_email');
  for (const whose of [eq(account_mails.user_id, user_id), eq(account_mails.recipient, recipient)])
    if ((await lately(tx, and(purpose, whose))) >= CONFIRMATIONS) return false;
  await tx
    .insert(account_mails)
    .values({ purpose: 'confirm_email', recipient, user_id, answered_at: sql`now()`, sent: true });
  return true;
}

/** Records the request without checking who has the address; undefined if the client address is over its limit. */
export async function noteResetRequest(
  tx: Tx,
  email: string,
  { address, user_agent }: SignInPlace,
): Promise<string | undefined> {
  await lock(tx, address);
  const mine = and(eq(account_mails.purpose, 'reset_password'), eq(account_mails.address, address));
  if ((await lately(tx, mine)) >= REQUESTS_FROM_ADDRESS) return undefined;
  const values = {
    purpose: 'reset_password',
    recipient: asciiLowerCase(email),
    address,
    user_agent: user_agent?.slice(0, 300),
  };
  const [row] = await tx.insert(account_mails).values(values).returning({ id: account_mails.id });
  return row!.id;
}

type ResetRequest = typeof account_mails.$inferSelect;

/** Takes the request, only once: a second caller finds nothing. `share`: its recipient may still get a mail. */
export async function takeResetRequest(
  tx: Tx,
  id: string,
): Promise<(ResetRequest & { share: boolean }) | undefined> {
  const [request] = await tx
    .update(account_mails)
    .set({ answered_at: sql`now()` })
    .where(and(eq(account_mails.id, id), isNull(account_mails.answered_at)))
    .returning();
  if (!request) return undefined;
  await lock(tx, request.recipient);
  const sent = and(
    eq(account_mails.purpose, 'reset_password'),
    eq(account_mails.recipient, request.recipient),
    eq(account_mails.sent, true),
  );
  return { ...request, share: (await lately(tx, sent)) < RESETS_TO_RECIPIENT };
}

export async function noteSent(tx: Tx, id: string, user_id: string): Promise<void> {
  await tx.update(account_mails).set({ sent: true, user_id }).where(eq(account_mails.id, id));
}

/** Requests that have been waiting for a minute: their job was lost. */
export async function forgottenResetRequests(tx: Tx): Promise<string[]> {
  const rows = await tx
    .select({ id: account_mails.id })
    .from(account_mails)
    .where(
      and(isNull(account_mails.answered_at), lt(account_mails.created_at, sql`now() - interval '1 minute'`)),
    )
    .limit(100);
  return rows.map(({ id }) => id);
}

/** Retention: drops everything outside the limits' time window. */
export async function deleteOldAccountMails(tx: Tx): Promise<void> {
  await tx.delete(account_mails).where(lt(account_mails.created_at, sql`now() - interval '1 day'`));
}

async function lately(tx: Tx, which: SQL | undefined): Promise<number> {
  const [row] = await tx
    .select({ number: count() })
    .from(account_mails)
    .where(and(which, gt(account_mails.created_at, sql`now() - interval '1 hour'`)));
  return row!.number;
}

async function lock(tx: Tx, whose: string): Promise<void> {
  await lockByName(tx, `account mail:${whose}`);
}
