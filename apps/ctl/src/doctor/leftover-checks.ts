/** Whether something is left of releases that did not yet clean it up: a database that began with this one has none of it. */
import { orphanedCredentials, strandedCheckouts } from '@acp/core';
import { type Check, well, wrong } from './finding.ts';

/** The rest is counted as more: whoever mends these asks again. */
const NAMED = 20;

function named(entries: readonly string[]): string {
  const more = entries.length > NAMED ? ', and more' : '';
  return `${entries.slice(0, NAMED).join(', ')}${more}`;
}

export const leftoverChecks: Record<string, Check> = {
  'keys of people who left': {
    after: ['schema'],
    mend: 'run doctor again',
    run: async ({ database }) => {
      const found = await orphanedCredentials(database.db, NAMED + 1);
      if (found.length === 0) return well('none');
      return wrong(
        named(
          found.map(
            ({ company, kind, label }) => `${company ?? 'instance'}: ${kind.replaceAll('_', ' ')} ${label}`,
          ),
        ),
        'delete them, or create new ones and then delete them: whoever created them knows them and may no longer do so',
      );
    },
  },
  'checkouts of agents that are gone': {
    after: ['schema'],
    mend: 'run doctor again',
    run: async ({ database }) => {
      const found = await strandedCheckouts(database.db, NAMED + 1);
      if (found.length === 0) return well('none');
      return wrong(
        named(found.map(({ company, issue, agent }) => `${company}: ${issue} by ${agent}`)),
        'release them on their pages, or by POST /api/issues/{id}/force-release',
      );
    },
  },
};
