import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

/**
 * Part of the statement that makes an issue: takes the company's next number, once for each row of `source` that meets
 * `condition`; gives `identifier_prefix` and `number`, and no row for a company in the trash. The lock on the company
 * lasts as long as the transaction, so that a number is never skipped.
 */
export function takeIssueNumber(company_id: string, source: SQL, condition: SQL): SQL {
  return sql`
    update companies c set next_issue_number = c.next_issue_number + 1
    from ${source}
    where c.id = ${company_id} and c.deleted_at is null and ${condition}
    returning c.identifier_prefix, c.next_issue_number - 1 as number`;
}

/** The next `count` numbers of the company, at once. @returns the first of them; undefined for a company in the trash */
export async function takeIssueNumbers(
  tx: Tx,
  company_id: string,
  count: number,
): Promise<{ prefix: string; first: number } | undefined> {
  const { rows } = await tx.execute<{ prefix: string; first: number }>(sql`
    update companies set next_issue_number = next_issue_number + ${count}
    where id = ${company_id} and deleted_at is null
    returning identifier_prefix as prefix, next_issue_number - ${count} as first`);
  return rows[0];
}
