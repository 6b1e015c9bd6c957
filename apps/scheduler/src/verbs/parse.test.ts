import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import * as fc from 'fast-check';
import { verbByName, verbTable } from '@acp/contract';
import { parse } from './parse.ts';

/** Returns the first action of a text; a test without one fails on the property it reads. */
function first(text: string) {
  const action = parse(text).actions[0];
  if (action === undefined) throw new Error(`no action in ${JSON.stringify(text)}`);
  return action;
}

describe('verb lines', () => {
  it('reads every verb of the table in kebab-case, in snake_case and by its aliases', () => {
    for (const [name, row] of verbByName) {
      if (row.name === 'mcp:') continue;
      expect(first(`/${name}`).verb).toBe(row.name);
      expect(first(`/${name.replaceAll('-', '_')} x`).verb).toBe(row.name);
    }
  });

  it('numbers actions in order, from the given ordinal, with the line each stands on', () => {
    const { actions } = parse('Hello\n/checkout\ntext\n/status done\n', 7);
    expect(actions.map(({ ordinal, verb, line }) => [ordinal, verb, line])).toEqual([
      [7, 'checkout', 2],
      [8, 'status', 4],
    ]);
  });

  it.each([
    ['indented', '  /status done'],
    ['after a word', 'I use /status done'],
    ['in a list', '- /status done'],
    ['quoted', '> /status done'],
    ['with punctuation', '/status: done'],
    ['in capitals', '/STATUS done'],
    ['a path', '/usr/bin/foo'],
    ['a path that begins like a verb', '/status/done'],
    ['unknown', '/shrug'],
    ['a tool call without a tool', '/mcp: {}'],
    ['longer than any verb', `/${'a-'.repeat(50)}a`],
  ])('leaves a slash word that is %s in the prose', (_case, text) => {
    const parsed = parse(text);
    expect(parsed.actions).toEqual([]);
    expect(parsed.prose).toBe(text.trim());
  });

  it('leaves what is not obeyed in the prose, body and all, and numbers the others as if it were', () => {
    const text = 'Hi\n/report Week\n```\n/status done\n```\n/checkout';
    const parsed = parse(text, 3, ({ name }) => name !== 'report');
    expect(parsed).toMatchObject({
      actions: [{ verb: 'checkout', ordinal: 4 }],
      prose: 'Hi\n/report Week\n```\n/status done\n```',
      unknown: [{ word: 'report', line: 2, reason: 'it is no verb here' }],
      next_ordinal: 5,
    });
  });

  it('names unknown slash words, but not paths, for the transcript', () => {
    expect(parse('/usr/bin/x\n/shrug\n\n/craete-issue A b').unknown).toEqual([
      { word: 'shrug', line: 2, reason: 'there is no such verb' },
      { word: 'craete-issue', line: 4, reason: 'there is no such verb' },
    ]);
  });

  it.each(['  /status done', '- /status done', '1. /status done', '**/status** done', '`/status done`'])(
    'names a verb that does not start its line, as in %j, for the transcript',
    (line) => {
      const reason = 'a verb starts its line, in lower case and without marks';
      expect(parse(line).unknown).toEqual([{ word: 'status', line: 1, reason }]);
      expect(parse(line.replace('status', 'STATUS')).unknown).toMatchObject([{ word: 'STATUS' }]);
    },
  );

  it.each([
    'I use /status done',
    '> /status done',
    '- /usr/bin',
    '/STATUS/x',
    '- /shrug',
    '```\n- /status done\n```',
  ])('does not name %j', (text) => expect(parse(text).unknown).toEqual([]));

  it('reads Windows line endings like others', () => {
    const parsed = parse('One\r\n/create-issue Title here\r\n\r\n```md\r\na\r\n\r\nb\r\n```\r\nTwo\r\n');
    expect(parsed.actions[0]).toMatchObject({ rest: 'Title here', body: 'a\n\nb' });
    expect(parsed.prose).toBe('One\nTwo');
  });
});

describe('arguments', () => {
  it('splits positional words and named values, quoted or not', () => {
    const { args, rest, text } = first(
      '/create-issue Fix the  login page priority=high assignee="Head of Growth"',
    );
    expect(args.positional).toEqual(['Fix', 'the', 'login', 'page']);
    expect({ ...args.named }).toEqual({ priority: 'high', assignee: 'Head of Growth' });
    expect(rest).toBe('Fix the  login page priority=high assignee="Head of Growth"');
    expect(text).toBe('Fix the  login page');
  });

  it('takes named arguments out of the middle of a title', () => {
    expect(first('/create-issue Fix priority=low the page parent=ABC-1').text).toBe('Fix the page');
  });

  it.each([
    ['"two words"', 'two words'],
    [String.raw`"a \"b\" c"`, 'a "b" c'],
    [String.raw`"C:\new\\x\q"`, 'C:\new\\x\\q'],
    ['"line\\nbreak"', 'line\nbreak'],
    ['""', ''],
    ['plain', 'plain'],
    ['', ''],
    ['"open', '"open'],
    ['"a"b', 'ab'],
    ['a=b=c', 'a=b=c'],
  ])('reads the value %s', (written, value) => {
    expect(first(`/assign q=${written}`).args.named['q']).toBe(value);
  });

  it('reads a quoted positional argument as one', () => {
    expect(first('/assign "Head of Growth" ABC-12').args.positional).toEqual(['Head of Growth', 'ABC-12']);
  });

  it('keeps quotes inside a title, and drops those around a whole one', () => {
    expect(first('/create-issue The "login" page').text).toBe('The "login" page');
    expect(first('/create-issue "The login page" priority=low').text).toBe('The login page');
    expect(first('/create-issue "One" and "two"').text).toBe('"One" and "two"');
  });

  it('takes a text by its name, if it is all there is', () => {
    expect(first('/create-issue title="Fix the login" priority=high')).toMatchObject({
      text: 'Fix the login',
      args: { positional: ['Fix the login'] },
    });
    expect(first('/create-issue Explain title="x" to them').text).toBe('Explain title="x" to them');
  });

  it('leaves a word with = to the text when the verb has free text and no such key', () => {
    const { args, text } = first('/create-issue Fix NODE_ENV=production crash priority=high');
    expect(text).toBe('Fix NODE_ENV=production crash');
    expect(args.positional).toEqual(['Fix', 'NODE_ENV=production', 'crash']);
    expect(Object.keys(args.named)).toEqual(['priority']);
    expect(first('/await-input Is it a=1 or b="2 3"?').text).toBe('Is it a=1 or b="2 3"?');
  });

  it('holds hostile keys without touching a prototype', () => {
    const { named } = first('/list-issues __proto__=x constructor=y q=1 q=2').args;
    expect(Object.getPrototypeOf(named)).toBeNull();
    expect(Object.keys(named)).toEqual(['__proto__', 'constructor', 'q']);
    expect(named['q']).toBe('2');
  });

  it('gives a tool call its name and its JSON untouched', () => {
    const { verb, args, rest } = first('/mcp:issues:create {"title": "a \\"b\\"", "n": 1}');
    expect([verb, args.positional, rest]).toEqual([
      'mcp:',
      ['issues:create'],
      '{"title": "a \\"b\\"", "n": 1}',
    ]);
    expect(first('/mcp:ping{}').rest).toBe('{}');
    expect(first('/mcp:ping').rest).toBe('');
  });
});

describe('bodies and fences', () => {
  it.each([
    ['right below', '/create-issue T\n```\nbody\n```'],
    ['after one blank line', '/create-issue T\n\n```markdown\nbody\n```'],
    ['in tildes', '/create-issue T\n~~~ md title="x`y"\nbody\n~~~'],
    ['closed by a longer fence', '/create-issue T\n```\nbody\n`````  '],
    ['indented', '/create-issue T\n  ```\n  body\n  ```'],
    ['unclosed', '/create-issue T\n```\nbody'],
  ])('takes the fenced block %s as the body', (_case, text) => {
    const parsed = parse(text);
    expect(parsed.actions[0]?.body).toBe('body');
    expect(parsed.prose).toBe('');
  });

  it('keeps shorter and other fences, and verbs, inside a body', () => {
    const inner = '```js\n/status done\n```\n~~~\n\n\nend';
    const parsed = parse(`/create-issue T\n\`\`\`\`\n${inner}\n\`\`\`\`\n/checkout`);
    expect(parsed.actions.map(({ verb, body }) => [verb, body])).toEqual([
      ['create-issue', inner],
      ['checkout', null],
    ]);
  });

  it('keeps a code block that names its language inside a body, though its fence is as long', () => {
    const inner = 'Run it:\n\n```bash\nnpm start\n```\n\n```js\n/status done\n```\nThat is all.';
    const parsed = parse(`/report Guide\n\`\`\`markdown\n${inner}\n\`\`\`\n/status done`);
    expect(parsed.actions.map(({ verb, body }) => [verb, body])).toEqual([
      ['report', inner],
      ['status', null],
    ]);
    expect(parsed.prose).toBe('');
  });

  it('takes the JSON of a tool from the block below, if there is none on the line', () => {
    const parsed = parse('/mcp:a:b\n```json\n{\n  "x": 1\n}\n```\n/mcp:a:b {}\n```\ncode\n```');
    expect(parsed.actions.map(({ rest, body }) => [rest, body])).toEqual([
      ['', '{\n  "x": 1\n}'],
      ['{}', null],
    ]);
    expect(parsed.prose).toBe('```\ncode\n```');
  });

  it('leaves a block after two blank lines, or after a verb that takes none, in the prose', () => {
    expect(parse('/create-issue T\n\n\n```\nx\n```')).toMatchObject({
      actions: [{ body: null }],
      prose: '```\nx\n```',
    });
    expect(parse('/status done\n```\n/checkout\n```')).toMatchObject({
      actions: [{ verb: 'status', body: null }],
      prose: '```\n/checkout\n```',
    });
  });

  it('does not obey a verb inside a code block, nor after an unclosed one', () => {
    expect(parse('```\n/status done\n```\n/checkout').actions.map(({ verb }) => verb)).toEqual(['checkout']);
    expect(parse('~~~~\n~~~\n/status done\n').actions).toEqual([]);
  });

  it('takes inline code of three backticks for no fence', () => {
    expect(parse('```code```\n/checkout').actions).toHaveLength(1);
  });
});

describe('prose', () => {
  it('is the text without verbs and bodies, trimmed, with single blank lines', () => {
    const text = '\n\nFirst.\n\n/status done\n\n\nSecond.\n/create-issue T\n```\nb\n```\n\n\n\nThird.\n\n';
    expect(parse(text).prose).toBe('First.\n\nSecond.\n\nThird.');
  });

  it('keeps blank lines inside a code block', () => {
    expect(parse('a\n```\n1\n\n\n2\n```').prose).toBe('a\n```\n1\n\n\n2\n```');
  });

  it('is empty when there is nothing but verbs', () => {
    expect(parse('/checkout\n\n/status done\n').prose).toBe('');
  });
});

describe('hostile input', () => {
  const piece = fc.constantFrom(
    '/status',
    '/create_issue',
    '/mcp:t',
    ' ',
    '"',
    '\\',
    '=',
    'a=',
    '\n',
    '\r\n',
    '```',
    '~~~~',
    '{',
    'x',
    '/',
    '_',
    '\t',
    '/await-input',
    '__proto__=',
    '\n\n',
    '   ',
    '\u2028',
    '\0',
    '/-',
    '/a-',
  );
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
  const characters = fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 200 })
    .map((points) => String.fromCodePoint(...points));

  it('never throws, and yields only verbs of the table in rising lines and ordinals', () => {
    const names = new Set(verbTable.map((row) => row.name));
    fc.assert(
      fc.property(fc.oneof(text, characters), (input) => {
        const { actions, prose } = parse(input);
        expect(prose).toBe(prose.trim());
        expect(actions.map(({ ordinal }) => ordinal)).toEqual(actions.map((_action, index) => index + 1));
        for (const [index, action] of actions.entries()) {
          expect(names.has(action.verb)).toBe(true);
          expect(action.line).toBeGreaterThan(actions[index - 1]?.line ?? 0);
          expect(Object.getPrototypeOf(action.args.named)).toBeNull();
        }
      }),
      { numRuns: 1000 },
    );
  });

  // Documents are built from known blocks, so that the expected result is known, too.
  const line = fc.constantFrom(
    'words',
    '  /status done',
    '/shrug',
    '~~~',
    'a "b',
    '',
    '# x',
    '``',
    '/checkout',
  );
  const proseLine = line.filter((value) => value !== '/checkout' && value !== '~~~' && value !== '');
  const block = fc.oneof(
    proseLine.map((value) => ({ text: value, prose: value, verb: null, body: null })),
    fc.constant({ text: '/release_', prose: '/release_', verb: null, body: null }),
    fc
      .constantFrom('checkout', 'get_issue')
      .map((verb) => ({ text: `/${verb} A-1`, prose: null, verb, body: null })),
    fc.record({ lines: fc.array(line), blank: fc.boolean() }).map(({ lines, blank }) => ({
      text: ['/create_issue T', ...(blank ? [' '] : []), '```md', ...lines, '````'].join('\n'),
      prose: null,
      verb: 'create_issue',
      body: lines.join('\n'),
    })),
    fc.array(line).map((lines) => {
      const code = ['```', ...lines, '```'].join('\n');
      return { text: code, prose: code, verb: null, body: null };
    }),
  );

  it('finds exactly the verbs, bodies and prose that a document was built of', () => {
    fc.assert(
      fc.property(fc.array(block), fc.constantFrom('\n', '\r\n'), (blocks, newline) => {
        const parsed = parse(blocks.map(({ text: part }) => part.replaceAll('\n', newline)).join(newline));
        const verbs = blocks.filter(({ verb }) => verb !== null);
        expect(parsed.actions.map(({ verb, body }) => [verb, body])).toEqual(
          verbs.map(({ verb, body }) => [verb?.replaceAll('_', '-'), body]),
        );
        const prose = blocks.flatMap(({ prose: part }) => (part === null ? [] : [part]));
        expect(parsed.prose).toBe(prose.join('\n').trim());
      }),
      { numRuns: 500 },
    );
  });

  const size = 1_000_000;
  const fill = (unit: string) => unit.repeat(Math.ceil(size / unit.length));
  it.each([
    ['open quotes', `/status ${fill('"a ')}`],
    ['open quoted values', `/status ${fill('a="\\" ')}`],
    ['quotes ended inside words', `/status ${fill('"a"b"')}`],
    ['backslashes', `/status "${fill('\\')}`],
    ['one endless verb name', `/${fill('a-')}`],
    ['one endless tool', `/mcp:${fill('a')}`],
    ['empty lines', fill('\n')],
    ['carriage returns', fill('\r')],
    ['unclosed bodies', fill('/create-issue a\n\n```\n')],
    ['bodies that never come', fill('/create-issue a\n\n')],
    ['openers', fill('```a\n')],
    ['one long key', `/status ${fill('k')}`],
    ['indentation', fill(' ')],
    ['slashes', fill('/a\n')],
  ])('parses a megabyte of %s in linear time', (_case, input) => {
    parse(input);
    // Quadratic behaviour would take minutes.
    expect(cpuMs(() => parse(input))).toBeLessThan(20_000);
  });
});
