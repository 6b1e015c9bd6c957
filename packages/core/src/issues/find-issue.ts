import { isUuid } from '@acp/kernel';
import { fixedStatement, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
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

const IDENTIFIER = /^([\p{L}\p{N}]+)-(\d{1,9})$/u;

/** The condition that finds `ABC-12` through the unique index on numbers; undefined if the text is no identifier. */
export function byIdentifier(text: string) {
  const match = IDENTIFIER.exec(text.trim());
  if (!match) return undefined;
  return sql`(i.issue_number = ${Number(match[2])} and i.identifier = ${`${match[1]!.toUpperCase()}-${match[2]}`})`;
}

const LARGEST_NUMBER = 9_999_999;

/** Conditions that find the longer identifiers that begin like this one, `ABC-120` and `ABC-1299` by `ABC-12`: a range of numbers each. */
export function byIdentifierStart(text: string): SQL[] {
  const match = IDENTIFIER.exec(text.trim());
  if (!match) return [];
  const start = sql`i.identifier like ${`${match[1]!.toUpperCase()}-${match[2]}_%`}`;
  const ranges: SQL[] = [];
  for (let width = 10; Number(match[2]) * width <= LARGEST_NUMBER && width <= LARGEST_NUMBER; width *= 10) {
    const first = Number(match[2]) * width;
    ranges.push(sql`i.issue_number between ${first} and ${first + width - 1} and ${start}`);
  }
  return ranges;
}
