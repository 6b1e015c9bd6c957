// Resolves the words of a verb. Everything is looked up within the agent's company: another tenant's id is
// simply unknown (specification, behaviour rule 7).
import { permits } from '@acp/contract';
import type { AgentPermission } from '@acp/contract';
import { agentNamed, findIssue, projectNamed, resolveIssueRef } from '@acp/core';
import type { IssueRow } from '@acp/core';
import { forbidden, invalid, isUuid, notFound } from '@acp/kernel';
import { inline } from '@acp/adapters';
import type { VerbContext } from './verb.ts';

type Named = { id: string; name: string };

const identifier = /^[\p{L}\p{N}]+-\d{1,9}$/u;

/** Whether a word must refer to an issue: an agent's name may be anything else. */
export function looksLikeIssue(word: string): boolean {
  return isUuid(word) || identifier.test(word);
}

/** The issue that the word refers to; without a word, the run's own. */
export async function issueOf({ tx, run }: VerbContext, word: string | undefined): Promise<IssueRow> {
  if (word !== undefined) {
    const named = await resolveIssueRef(tx, run.company_id, word);
    if (named === undefined) throw notFound(`there is no issue ${inline(word, 100)}`);
    return named;
  }
  if (run.issue_id === null) throw invalid('this run has no issue: name one');
  const own = await findIssue(tx, run.issue_id);
  if (own === undefined) throw notFound('the issue of this run is gone');
  return own;
}

/** An agent of the company by id or by name (case-insensitive, if the name is unique). */
export async function agentOf({ tx, run }: Pick<VerbContext, 'tx' | 'run'>, word: string): Promise<Named> {
  return agentNamed(tx, run.company_id, word.replace(/^@/, '').trim());
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

/** The words of the line. More than the verb takes is reported as a mistake instead of guessing. */
export function words({ action }: VerbContext, least: number, most: number): string[] {
  const { positional } = action.args;
  if (positional.length < least) throw invalid('an argument is missing');
  if (positional.length > most)
    throw invalid(`too many arguments: ${inline(positional.slice(most).join(' '), 100)}`);
  return positional;
}
