/** Texts of pages in languages other than English. */
import { describe, expect, it } from '@jest/globals';
import { parseLanguage } from '@acp/kernel';
import { Catalogue, keyOf } from './catalogue.ts';
import { count, duration, timeAgo, usd } from './format.ts';
import { html } from './html.ts';
import { inLanguage, plural, say, translateValue, t, texts } from './language.ts';
import { catalogueOf } from './languages.ts';
import { cutTemplate, messagesOf } from './template-texts.ts';

const found = (strings: TemplateStringsArray, ..._values: unknown[]): string[] =>
  messagesOf(cutTemplate(strings.raw)).map(({ message }) => message);

describe('a template is cut into messages', () => {
  it('sentences keep their values and inline tags, in whatever they stand', () => {
    expect(found`<p>Nothing is lost:
      <a href="${1}">sign in</a>, then send <b>this</b> again.</p><ul><li>${2} left</li></ul>`).toEqual([
      'Nothing is lost: <0>sign in</0>, then send <1>this</1> again.',
      '{0} left',
    ]);
  });

  it('what people read of attributes is one, what they do not read is none', () => {
    expect(found`<a class="big one" title="Until ${1}" href="/a b">${2}</a><input type="submit" value="Go" />
      <input value="as it is" placeholder="Name" /><pre>not this</pre><script src="x">nor this</script>`).toEqual(
      ['Until {0}', 'Go', 'Name'],
    );
  });

  it('inline elements beside each other are one each, and halves of elements part sentences', () => {
    expect(found`<span>Agent</span> · <em>${1}</em><i></i>Text <code>npm</code></b> tail`).toEqual([
      '<0>Agent</0> · <1>{0}</1><2></2>Text <3>npm</3>',
      'tail',
    ]);
    expect(found`<span>One</span> <span>Two</span> <code>three</code>`).toEqual(['One', 'Two']);
  });

  it('what has no letter is nobody’s to translate', () => {
    expect(found`<td>${1} · !${2}</td><b>12:30</b>`).toEqual([]);
  });
});

const file = `
msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "{0} of <0>{1}</0>, {2}!"
msgstr "{2}, <0>{1}</0>: {0}!"

msgid "Sign <0>in</0>"
msgstr "<0>An</0>meldung & <b>"

msgid "Hello!"
msgstr "Hallo!"

msgid "Dear {0}"
msgstr "Hallo!{0}"

msgid "# run of {0}"
msgid_plural "# runs of {0}"
msgstr[0] "# Lauf von {0}"
msgstr[1] "# Läufe von {0}"

msgctxt "value"
msgid "in progress"
msgstr "in Arbeit"

msgid "Open {0}"
msgstr "{0} öffnen"

#, fuzzy
msgid "Not sure"
msgstr "Unsicher"
`;
const german = new Catalogue('de', parseLanguage(file).texts);

describe('in another language', () => {
  const inGerman = <T>(work: () => T): T => inLanguage(german, work);

  it('values and tags stand where its sentence has them, escaped or not as in the template', () => {
    const page = (name: string) => html`<p>${1} of <b class="!${'x'}">!${name}</b>, ${name}!</p>`;
    expect(page('<i>')).toBe('<p>1 of <b class="x"><i></b>, &#60;i&#62;!</p>');
    expect(inGerman(() => page('<i>'))).toBe('<p>&#60;i&#62;, <b class="x"><i></b>: 1!</p>');
    expect(inGerman(() => page('again'))).toBe('<p>again, <b class="x">again</b>: 1!</p>');
  });

  it('a translation can neither bring HTML nor make a value raw', () => {
    expect(inGerman(() => html`<h1>Sign <a href="/x">in</a></h1>`)).toBe(
      '<h1><a href="/x">An</a>meldung &#38; &#60;b&#62;</h1>',
    );
    const greeting = (name: string) => html`<p>Dear ${name}!${'<hr />'}</p>`;
    expect(inGerman(() => greeting('<i>'))).toBe('<p>Hallo&#33;&#60;i&#62;<hr /></p>');
  });

  it('what it has no word for is said in English, a value is never looked up', () => {
    expect(inGerman(() => html`<p>Not sure</p>`)).toBe('<p>Not sure</p>');
    expect(inGerman(() => html`<p>${'Open {0}'}</p>`)).toBe('<p>Open {0}</p>');
    expect(inGerman(() => [say('Other'), t`Other ${1}`, translateValue('gone_by')])).toEqual([
      'Other',
      'Other 1',
      'gone by',
    ]);
  });

  it('constants are said in the language of who reads them, however deep they lie', () => {
    const names = texts({ open: 'Hello!', more: [{ label: 'Sign <0>in</0>', order: 1 }] });
    const read = () => [names.open, names.more[0]!.label, names.more.map(({ order }) => order)];
    expect(read()).toEqual(['Hello!', 'Sign <0>in</0>', [1]]);
    expect(inGerman(read)).toEqual(['Hallo!', '<0>An</0>meldung & <b>', [1]]);
    expect(Object.hasOwn(names, 'open') && !('constructor' in names)).toBe(true);
  });

  it('text outside of templates, counts and values of the code', () => {
    expect(inGerman(() => [t`Open ${'A {0}'}`, translateValue('in_progress')])).toEqual([
      'A {0} öffnen',
      'in Arbeit',
    ]);
    const runs = (n: number) => plural(n, '# run of {0}', '# runs of {0}', 'Ada');
    expect([runs(1), runs(1200)]).toEqual(['1 run of Ada', '1,200 runs of Ada']);
    expect(inGerman(() => [runs(1), runs(1200)])).toEqual(['1 Lauf von Ada', '1.200 Läufe von Ada']);
  });

  it('numbers and money are written as there', () => {
    expect([count(12_345), count(1_250_000), usd(1234.5), usd(0.0123)]).toEqual([
      '12,345',
      '1.3 M',
      '$1,234.50',
      '$0.012',
    ]);
    expect(inGerman(() => [count(12_345), usd(1234.5)])).toEqual(['12.345', '1.234,50\u{A0}$']);
  });

  it('a language with more forms takes the one of its rules', () => {
    const { texts: forms } = parseLanguage(
      `msgid "# run"\nmsgid_plural "# runs"\nmsgstr[0] "# bieg"\nmsgstr[1] "# biegi"\nmsgstr[2] "# biegów"\n`,
    );
    const polish = new Catalogue('pl', forms);
    const said = [1, 3, 5, 22].map((n) => inLanguage(polish, () => plural(n, '# run', '# runs')));
    expect(said).toEqual(['1 bieg', '3 biegi', '5 biegów', '22 biegi']);
  });
});

it('the file of German says what the kit says', () => {
  const now = Date.parse('2026-01-02T03:04:05Z');
  const said = inLanguage(catalogueOf('de'), () => [
    timeAgo('2026-01-02T03:00:05Z', now),
    duration('2026-01-02T03:00:05Z', '2026-01-02T03:00:06.5Z'),
  ]);
  expect(said[0]).toContain('vor 4 min');
  expect(said[1]).toBe('1,5 s');
  expect(catalogueOf('en')).toBeNull();
  expect(keyOf('a', 'value')).not.toBe(keyOf('a', ''));
});
