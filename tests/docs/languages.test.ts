/** The language files match the messages in the code. */
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { agentPermissionDefaults, securityEventKinds } from '@acp/contract';
import { findMessages, unsaidRefusals } from '../../scripts/messages/find-messages.ts';
import { compare, languageFiles, readLanguage } from '../../scripts/messages/language-files.ts';
import { phrases } from '../../apps/web/src/ui/issues/timeline.ts';
import { terms } from '../../apps/web/src/ui/kit/terms.ts';

const root = resolve(import.meta.dirname, '../..');
const found = findMessages();

describe.each(languageFiles())('%s', (file) => {
  const { missing, unused, wrong } = compare(readLanguage(file), found);

  it('has the places and tags of each message, all forms of what is counted, and no HTML', () => {
    expect(wrong).toEqual([]);
  });

  it('has a translation of everything, and nothing that is not said any more (else: npm run messages, then fill in what it prints)', () => {
    expect({ missing, unused }).toEqual({ missing: [], unused: [] });
    expect(found.size).toBeGreaterThan(1000);
  });
});

it('refusals that a page may show are constants, or keep their values apart by `said`: only then can they be translated', () => {
  expect(unsaidRefusals()).toEqual([]);
});

it('what is done has words: both parts of the names of entries of the activity are terms, or they have a phrase', () => {
  const known = new Set(terms);
  const others = new Set<string>([...Object.keys(agentPermissionDefaults), ...securityEventKinds]);
  const sources = globSync('packages/core/src/**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  const said = sources.flatMap((file) =>
    [...readFileSync(resolve(root, file), 'utf8').matchAll(/(action: )?'([a-z_]+)\.([a-z_]+)'/g)]
      // Permissions and file names contain dots as well.
      .filter(([, isAction, entity]) => isAction !== undefined || known.has(entity!))
      .filter(([, , entity, act]) => !others.has(`${entity}.${act}`))
      .map(([, , entity, act]) => ({ entity: entity!, act: act! })),
  );
  expect(said.length).toBeGreaterThan(100);
  const unsaid = said.filter(
    ({ entity, act }) =>
      !Object.hasOwn(phrases, `${entity}.${act}`) && !(known.has(entity) && known.has(act)),
  );
  expect(unsaid).toEqual([]);
});
