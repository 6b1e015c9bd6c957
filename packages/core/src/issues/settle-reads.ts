/** Keeps marks near the present, so that an inbox has little to look through, and removes the rows that a mark makes superfluous. */
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import {
  isMarkedUnread,
  isPutOff,
  lastHappening,
  lockMark,
  moveMark,
  settledInstant,
  unreadIds,
  unreadNow,
} from './read-marks.ts';

/** With more than that unread, the first page of an inbox is found at once, and a row for each would cost more than it saves. */
const MOST_UNREAD = 500;

/** Marks more than a day old. */
export async function oldReadMarks(tx: Tx): Promise<{ reader_id: string; company_id: string }[]> {
  const { rows } = await tx.execute<{ reader_id: string; company_id: string }>(sql`
    select reader_id, company_id from read_marks where read_to is null or read_to < now() - interval '1 day'`);
  return rows;
}

/**
 * Moves the mark to the present; what is unread stays so by rows of its own. Nothing of it shows.
 * @returns false if too much is unread for that
 */
export async function settleReads(tx: Tx, reader: string, company_id: string): Promise<boolean> {
  const mark = await lockMark(tx, reader, company_id);
  // By the mark as it was: processes of the release before, which know of none, still read the rows of a newer one.
  await tx.execute(sql`
    delete from issue_reads r using issues i
    where r.reader_id = ${reader}::uuid and i.id = r.issue_id and i.company_id = ${company_id}::uuid
      and ${mark} > '-infinity' and (${isPutOff}) is not true and not ${isMarkedUnread} and ${lastHappening(reader)} <= ${mark}`);
  const settled = await settledInstant(tx);
  // Also those below something in the trash, with which they may return.
  const { rows } = await tx.execute<{ id: string }>(
    sql`with ${unreadIds(reader, company_id, mark, sql`i.deleted_at is null`, MOST_UNREAD + 1)} select id from unread`,
  );
  if (rows.length > MOST_UNREAD) return false;
  const unread = rows.map(({ id }) => id);
  await tx.execute(sql`
    insert into issue_reads as r (reader_id, issue_id, read_at, snoozed_until)
    select ${reader}::uuid, i.id, ${unreadNow.read_at}, ${unreadNow.snoozed_until} from issues i
    where i.id in (select jsonb_array_elements_text(${JSON.stringify(unread)}::jsonb)::uuid)
    order by i.id
    on conflict (reader_id, issue_id) do update set read_at = excluded.read_at, snoozed_until = excluded.snoozed_until
    where (${isPutOff}) is not true`);
  await moveMark(tx, reader, company_id, settled);
  return true;
}
