import { type ProgramSpec, refusalWords } from '@acp/adapters';
import { recordRefusals, type ClaimedRun } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';
import type { Transcript } from '../execution/transcript.ts';
import { countRefusals } from './egress-metrics.ts';

const door = 'program';

/** Reports the hosts refused to a run's programs to its transcript and page. Never rejects: the run's outcome stands. */
export async function reportRefused(
  { database, logger }: { database: Database; logger: Logger },
  { run_id, company_id }: Pick<ClaimedRun, 'run_id' | 'company_id'>,
  program: ProgramSpec | undefined,
  transcript: Pick<Transcript, 'add'>,
): Promise<void> {
  const reach = program?.container?.reach ?? program?.sandbox?.reach;
  const refused = reach?.takeRefused() ?? [];
  if (refused.length === 0) return;
  for (const { times } of refused) countRefusals(door, times);
  transcript.add('log', { message: `not let out to ${refusalWords(refused)}`, refused });
  try {
    await recordRefusals(
      database.db,
      { company_id, run_id },
      refused.map((each) => ({ ...each, door })),
    );
  } catch (error) {
    logger.warn('the refusals of a run could not be recorded', { run_id, error });
  }
}
