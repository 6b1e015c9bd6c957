/** The files of languages fit what the code says. */
import { describe, expect, it } from '@jest/globals';
import { findMessages } from '../../scripts/messages/find-messages.ts';
import { compare, languageFiles, readLanguage } from '../../scripts/messages/language-files.ts';

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
