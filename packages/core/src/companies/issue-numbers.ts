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
