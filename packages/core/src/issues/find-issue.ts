import { isUuid } from '@acp/kernel';
import { fixedStatement, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import {
  type IssueRow,
  type IssueVersion,
  notTrashed,
  rowVersion,
  selectIssues,
  shownIssue,
  toIssueRow,
} from './rows.ts';

/** Undefined if absent, in the trash or below something that is. */
export async function findIssue(tx: Tx, id: string): Promise<IssueVersion | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await byId(tx, { id });
  return row === undefined ? undefined : toIssueRow(row);
}

const byId = fixedStatement(
  ['id'],
  ({
    id,
  }) => sql`select ${shownIssue}, ${rowVersion('i')} as row_version from issues i join companies c on c.id = i.company_id
    where i.id = ${id} and c.deleted_at is null and ${notTrashed('i')}`,
);

export interface IssueName extends Record<string, unknown> {
  id: string;
  identifier: string;
  title: string;
}

/** What issues are called, by id; without those of other companies or in the trash. One statement for any number. */
export async function issueNames(
  tx: Tx,
  company_id: string,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, IssueName>> {
  const wanted = [...new Set(ids)].filter((id) => id !== null);
  if (wanted.length === 0) return new Map();
  const { rows } = await tx.execute<IssueName>(sql`
    select i.id, i.identifier, i.title from issues i
    where i.company_id = ${company_id} and i.id = any(${sql.param(wanted)}::uuid[]) and ${notTrashed('i')}`);
  return new Map(rows.map((issue) => [issue.id, issue]));
}

/** Finds an issue of the company by UUID or case-insensitive identifier (`ABC-12`); undefined if there is none. */
export async function resolveIssueRef(tx: Tx, companyId: string, ref: string): Promise<IssueRow | undefined> {
  const name = isUuid(ref) ? sql`i.id = ${ref}` : byIdentifier(ref);
  if (name === undefined) return undefined;
  const [row] = await selectIssues(
    tx,
    sql`select ${shownIssue} from issues i where i.company_id = ${companyId} and ${name} and ${notTrashed('i')}`,
  );
  return row;
}

/** The condition that finds `ABC-12` through the unique index on numbers; undefined if the text is no identifier. */
export function byIdentifier(text: string) {
  const match = /^([\p{L}\p{N}]+)-(\d{1,9})$/u.exec(text.trim());
  if (!match) return undefined;
  return sql`(i.issue_number = ${Number(match[2])} and i.identifier = ${`${match[1]!.toUpperCase()}-${match[2]}`})`;
}
