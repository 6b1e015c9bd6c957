import { installLicense, licenseState, systemActor } from '@acp/core';
import type { LicenseState } from '@acp/contract';
import { transaction } from '@acp/db';
import { readGivenLicense } from '@acp/kernel';
import { type Answer, type Command, option } from '../command.ts';

function answer(state: LicenseState): Answer {
  const until = state.expires_at === null ? 'no expiry' : `until ${new Date(state.expires_at).toISOString()}`;
  const texts = {
    trial: `trial, ${until}`,
    licensed: `licensed to ${state.holder}, ${until}`,
    expired: 'expired: the instance is read-only',
  };
  return { value: state, text: texts[state.status] };
}

export const license: Record<string, Command> = {
  show: {
    usage: 'license show',
    doc: 'Shows the trial or license, and when it expires.',
    run: async ({ database }) => answer(await licenseState(database.db)),
  },
  install: {
    usage: 'license install --key <license key>',
    doc: 'Installs a license; running processes pick it up immediately.',
    required: ['key'],
    run: async (context) => {
      const given = readGivenLicense(option(context, 'key'), context.config.license_public_key);
      const operator = systemActor('operator');
      return answer(await transaction(context.database, (tx) => installLicense(tx, operator, given)));
    },
  },
};
