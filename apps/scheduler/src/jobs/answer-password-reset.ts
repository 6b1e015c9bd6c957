import { answerPasswordReset } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function answerPasswordResetJob(context: SchedulerContext): JobHandler<'answer-password-reset'> {
  const { config, database, messages, vault } = context;
  const mailing = { vault, mail: Boolean(config.smtp_url), public_url: config.public_url };
  return async ({ request_id }) => {
    await transaction(database, async (tx) => answerPasswordReset(tx, request_id, mailing));
    messages.kick();
  };
}
