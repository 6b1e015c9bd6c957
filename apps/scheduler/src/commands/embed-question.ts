import type { CommandCatalogue } from '@acp/contract';
import { bytesOf } from '@acp/core';
import { notFound } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

/** The command `embed-question {question}`, for searches in the web tier. */
export function embedQuestionCommand({
  knowledge,
}: Pick<SchedulerContext, 'knowledge'>): CommandHandlers<CommandCatalogue>['embed-question'] {
  return async ({ question }, { company_id, signal }) => {
    if (company_id === null) throw notFound();
    const found = await knowledge.embedQuestion(company_id, question, signal);
    if (found === null) return { vector: null };
    return { vector: { space: found.space, numbers: bytesOf(found.vector).toString('base64') } };
  };
}
