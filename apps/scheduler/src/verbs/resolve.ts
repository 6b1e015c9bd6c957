// Resolves the words of a verb. Everything is looked up within the agent's company: another tenant's id is
// simply unknown (specification, behaviour rule 7).
import { permits, verbByName } from '@acp/contract';
import type { AgentPermission, VerbRow } from '@acp/contract';
import { agentNamed, findIssue, projectNamed, resolveIssueRef } from '@acp/core';
import type { IssueRow } from '@acp/core';
import { asServiceError } from '@acp/db';
import { forbidden, invalid, isUuid, notFound } from '@acp/kernel';
import { inline } from '@acp/adapters';
import type { VerbContext } from './verb.ts';

type Named = { id: string; name: string };

const identifier = /^[\p{L}\p{N}]+-\d{1,9}$/u;

/** Marks that models put around a word, or after it: emphasis, code, quotes, the end of a sentence. */
const before = /^[*_`“”"'#]+/;
const after = '*_`“”"\'.,;:!';

/** A word that is a name of the service's own: a status, a priority, an issue. Linear: a model's output is hostile input. */
export function plain(word: string): string {
  let end = word.length;
  while (end > 0 && after.includes(word[end - 1]!)) end -= 1;
  return word.slice(0, end).replace(before, '');
}

/** Whether a word must refer to an issue: an agent's name may be anything else. */
export function looksLikeIssue(word: string): boolean {
  return isUuid(plain(word)) || identifier.test(plain(word));
}

/** The issue that the word refers to; without a word, the run's own. */
export async function issueOf({ tx, run }: VerbContext, word: string | undefined): Promise<IssueRow> {
  if (word !== undefined) {
    const named = await resolveIssueRef(tx, run.company_id, plain(word));
    if (named === undefined) throw notFound(`there is no issue ${inline(word, 100)}`);
    return named;
  }
  if (run.issue_id === null) throw invalid('this run has no issue: name one');
  const own = await findIssue(tx, run.issue_id);
  if (own === undefined) throw notFound('the issue of this run is gone');
  return own;
}

/**
 * An agent of the company by id or by name (case-insensitive, if the name is unique), which may be written as a mention (decisions
 * 7.18) or end a sentence.
 */
export async function agentOf({ tx, run }: Pick<VerbContext, 'tx' | 'run'>, word: string): Promise<Named> {
  const written = word.trim();
  const name = written.replace(/^@/, '').replaceAll('"', '');
  try {
    return await agentNamed(tx, run.company_id, name);
  } catch (error) {
    const other = written.startsWith('@') ? plain(name).replaceAll('-', ' ') : plain(name);
    if (asServiceError(error)?.kind !== 'not_found' || other === name) throw error;
    return agentNamed(tx, run.company_id, other);
  }
}

/** A project, looked up likewise: the prompt shows its name, not its id. */
export async function projectOf({ tx, run }: VerbContext, word: string): Promise<Named> {
  return projectNamed(tx, run.company_id, word);
}

export function requirePermission(run: VerbContext['run'], permission: AgentPermission): void {
  if (!permits(run.actor.permissions, permission)) {
    throw forbidden(`permission ${permission} is off`);
  }
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 50;

/** The `limit=` of a list, capped at the maximum. */
export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalid('limit must be a whole number from 1 up');
  return Math.min(Number(text), MAX_LIMIT);
}

/** The text of a `TITLE…` or `NAME…`, without quotes: models may add them anyway. */
export function textOf({ action }: { action: Pick<VerbContext['action'], 'text'> }, what: string): string {
  const text = /^"([^"]*)"$/.exec(action.text)?.[1] ?? action.text;
  if (text.trim() === '') throw invalid(`${what} is missing`);
  return text;
}

/**
 * The positional arguments of the verb's grammar, each as a word of the line or by its name (`issue=ABC-12`). More than the verb
 * takes is reported as a mistake instead of guessing.
 */
export function words({ action }: Pick<VerbContext, 'action'>): (string | undefined)[] {
  const { params } = rowOf(action.verb);
  const { positional, named } = action.args;
  const left = [...positional];
  const given = params.map(({ name }) => named[name] ?? left.shift());
  if (params.some(({ optional }, index) => !optional && given[index] === undefined))
    throw invalid('an argument is missing');
  if (left.length > 0) throw invalid(`too many arguments: ${inline(left.join(' '), 100)}`);
  return given;
}

/** The row of a parsed verb. */
export function rowOf(verb: string): VerbRow {
  const row = verbByName.get(verb);
  if (row === undefined) throw new Error(`verb ${verb} is not in the table`);
  return row;
}

/** @throws invalid for a line with a `key=` that its verb does not have */
export function requireKnownKeys(
  { name: verb, keys, params }: VerbRow,
  { args }: Pick<VerbContext['action'], 'args'>,
): void {
  const strange = Object.keys(args.named).find(
    (key) => !keys.includes(key) && params.every(({ name }) => name !== key),
  );
  if (strange !== undefined) throw invalid(`/${verb} takes no ${inline(strange, 100)}=`);
}
