import type { Actor, CompanyBundle } from '@acp/contract';
import type { Tx } from '@acp/db';
import { newId, type Vault } from '@acp/kernel';
import type { NewPolicy } from '../budgets/index.ts';
import { insertComments } from '../comments/index.ts';
import type { CompanyRow } from '../companies/index.ts';
import { insertDocuments } from '../documents/index.ts';
import { insertIssueLabels, insertIssues, insertRelations } from '../issues/index.ts';
import { insertNotes } from '../notes/index.ts';
import type { NewProvider } from '../providers/index.ts';
import type { BundleIds } from './bundle-ids.ts';
import * as rows from './bundle-rows.ts';

export interface Written {
  bundle: CompanyBundle;
  ids: BundleIds;
  company: CompanyRow;
  providers: readonly NewProvider[];
  policies: readonly NewPolicy[];
  /** The database's time, RFC 3339. */
  now: string;
  vault: Vault;
}

/** Writes issues with everything attached to them, and notes, which may be attached as well. */
export async function writeWork(tx: Tx, actor: Actor, written: Written): Promise<void> {
  const { bundle, ids, company, now } = written;
  const { id: company_id } = company;
  await insertIssues(tx, actor, company_id, rows.issueRows(bundle, ids, now));
  await insertIssueLabels(tx, rows.issueLabelRows(ids));
  await insertRelations(tx, actor, company_id, rows.relationRows(ids));
  // Comments with the same timestamp are ordered by their ids.
  const inOrder = (count: number) => Array.from({ length: count }, () => newId()).toSorted();
  await insertComments(tx, company_id, rows.commentRows(ids, now, inOrder));
  await insertDocuments(tx, actor, company_id, rows.documentRows(ids));
  await insertNotes(tx, actor, company_id, rows.noteRows(ids, now));
}
