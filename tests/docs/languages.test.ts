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

  it('lags behind the code by what is printed, which `npm run messages` puts in', () => {
    if (missing.length + unused.length > 0)
      process.stderr.write(
        `${file}: ${missing.length} messages without a translation, ${unused.length} unused\n`,
      );
    expect(found.size).toBeGreaterThan(1000);
  });
});
