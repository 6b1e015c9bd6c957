import type { Command } from './command.ts';
import { companies } from './nouns/companies.ts';
import { db } from './nouns/db.ts';
import { doctor } from './nouns/doctor.ts';
import { keys } from './nouns/keys.ts';
import { license } from './nouns/license.ts';
import { runs } from './nouns/runs.ts';
import { secrets } from './nouns/secrets.ts';
import { supportBundle } from './nouns/support-bundle.ts';
import { users } from './nouns/users.ts';
import { workers } from './nouns/workers.ts';

/** One file per noun; a noun whose verb is '' takes none. */
export const nouns: Record<string, Record<string, Command>> = {
  users,
  companies,
  keys,
  license,
  runs,
  workers,
  secrets,
  db,
  doctor,
  'support-bundle': supportBundle,
};
