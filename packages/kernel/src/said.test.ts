import { describe, expect, it } from '@jest/globals';
import { inWords, languagesWithFile, said, saidText, saidValue, textsIn, translatorInto } from './index.ts';

const german = translatorInto('de')!;

describe('a sentence', () => {
  const inner = said`The disk of scheduler ${'{1} one'} is ${95} % full`;
  const whole = said`Resolved: ${inner}`;

  it('is English as it stands in the code, and what its values look like changes nothing', () => {
    expect(inWords(whole)).toBe('Resolved: The disk of scheduler {1} one is 95 % full');
    expect(inWords(JSON.parse(JSON.stringify(whole)) as typeof whole)).toBe(inWords(whole));
  });

  it('is said in another language with the sentences and words of the code in it, but for what others wrote', () => {
    expect(inWords(whole, german)).toBe('Vorbei: Die Platte des Schedulers {1} one ist zu 95 % voll');
    expect(inWords(said`${saidText('Save')}, ${'Save'}, ${saidValue('in_progress')}`, german)).toBe(
      'Speichern, Save, in Arbeit',
    );
  });

  it.each([null, 'en', 'xx', '../de', 'de.po', '', 'de/../de'])(
    'of %p there is no other language',
    (language) => {
      expect(translatorInto(language)).toBeUndefined();
    },
  );
});

describe('the files of languages', () => {
  it('are parsed once each, and only those that exist', () => {
    expect(languagesWithFile()).toContain('de');
    expect(textsIn('de')).toBe(textsIn('de'));
    expect(textsIn('de')!.texts.size).toBeGreaterThan(1000);
    expect(Object.keys(textsIn('de')!.scripts).length).toBeGreaterThan(10);
    expect(textsIn('xx')).toBeUndefined();
  });
});
