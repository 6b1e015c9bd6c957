import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { isCompanyAdmin } from '../agents/index.ts';
import { countAsking } from '../approvals/index.ts';
import { isSnoozed, readerOf, waitsForPerson } from '../issues/index.ts';

export interface Waiting {
  /** Number of pending approvals, except those the reader snoozed. */
  approvals: number;
  /** Approvals and all other inbox items that need an answer; excludes merely unread ones. */
  inbox: number;
}

/** The numbers shown on every page: one statement. Also counts items that belong to something in the trash: they are rare. */
export async function countWaiting(tx: Tx, actor: Actor, company_id: string): Promise<Waiting> {
  const reader = readerOf(actor);
  const { rows } = await tx.execute<{ approvals: number; rest: number }>(sql`
    select ${countAsking(reader, company_id)} as approvals,
      (select count(*)::int from issues i where i.company_id = ${company_id} and i.deleted_at is null
        and ${waitsForPerson} and not ${isSnoozed(reader)})
      + (select count(*)::int from budget_incidents where company_id = ${company_id} and status = 'open')
      + (select count(*)::int from join_requests where company_id = ${company_id} and status = 'pending'
          and ${isCompanyAdmin(actor, company_id)}) as rest`);
  const { approvals, rest } = rows[0]!;
  return { approvals, inbox: approvals + rest };
}

/** The last comment on an issue and its assignee: why it is in an inbox. */
export interface Reason extends Record<string, unknown> {
  issue_id: string;
  assignee_name: string | null;
  blocked_reason: string | null;
  author: string | null;
  /** The beginning of the comment. */
  said: string | null;
}

const EXCERPT = 400;

/** Reasons by issue; one statement for any number of them. */
export async function inboxReasons(
  tx: Tx,
  company_id: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Reason>> {
  if (ids.length === 0) return new Map();
  const { rows } = await tx.execute<Reason>(sql`
    select i.id as issue_id, a.name as assignee_name, left(i.blocked_reason, ${EXCERPT}) as blocked_reason, c.author, c.said
    from issues i left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null
    left join lateral (
      select coalesce(w.name, u.display_name, c.author_label) as author, left(c.body_markdown, ${EXCERPT}) as said
      from comments c left join agents w on w.id = c.author_agent_id left join users u on u.id = c.author_user_id
      where c.issue_id = i.id order by c.created_at desc, c.id desc limit 1) c on true
    where i.company_id = ${company_id} and i.id in (${sql.join(
      ids.map((id) => sql`${id}::uuid`),
      sql`, `,
    )})`);
  return new Map(rows.map((reason) => [reason.issue_id, reason]));
}
