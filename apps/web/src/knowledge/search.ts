import type { Actor, KnowledgePassage } from '@acp/contract';
import { type QuestionVector, searchKnowledge, vectorOf, vectorSpace } from '@acp/core';
import type { Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { Services } from '../http/services.ts';

interface Searcher {
  tx: Tx;
  actor: Actor;
  company_id: string;
  services: Pick<Services, 'command'>;
}

/** Search for people and clients: a scheduler embeds the query, since this tier calls no model. */
export async function searchFor(
  searcher: Searcher,
  question: string,
  limit: number | undefined,
): Promise<KnowledgePassage[]> {
  const { tx, company_id } = searcher;
  if (question.trim() === '') return [];
  return searchKnowledge(tx, company_id, { question, limit, vector: await vectorFor(searcher, question) });
}

/** Null if the company has no vectors or no scheduler answers in time: the search is then full-text only. */
async function vectorFor(
  { tx, actor, company_id, services }: Searcher,
  question: string,
): Promise<QuestionVector | null> {
  if ((await vectorSpace(tx, company_id)) === null) return null;
  try {
    const { vector } = await services.command('embed-question', { question }, { actor, company_id });
    return vector && { space: vector.space, vector: vectorOf(Buffer.from(vector.numbers, 'base64')) };
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'unavailable') return null;
    throw error;
  }
}
