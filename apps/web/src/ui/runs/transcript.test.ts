import { describe, expect, it } from '@jest/globals';
import { transcriptEntries } from './transcript.ts';

const at = '2026-05-01T00:00:00.000Z';

describe('a transcript', () => {
  it('shows a verb with its arguments, and a tool with what it was called with', () => {
    const verbs = [
      { verb: 'status', args: { line: 'done ABC-1' }, ok: true, result: 'ABC-1: status done' },
      { verb: 'mcp:', args: { line: 'fly {}' }, ok: false, error: 'there is no tool' },
    ];
    const shown = transcriptEntries(
      verbs.map((payload, index) => ({ seq: index + 1, kind: 'action', payload, created_at: at })),
    );
    expect(shown).toContain('<code>/status done ABC-1</code>');
    expect(shown).toContain('<code>/mcp:fly {}</code> <span class="soft">there is no tool</span>');
  });

  it('shows what came of a verb as the agent read it, line by line', () => {
    const result = '<result tool="find">\n{"title":"A \\"b\\""}\n</result>';
    const payload = { ok: true, verb: 'mcp:', args: { line: 'find {}' }, error: null, result, ordinal: 1 };
    const noted = { ok: true, verb: 'create-note', args: { line: 'Prices', body: 'One\nTwo' }, result: 'x' };
    const shown = transcriptEntries(
      [payload, noted].map((each, at_) => ({ seq: at_ + 1, kind: 'action', payload: each, created_at: at })),
    );
    const folds = [...shown.matchAll(/<pre>([^]*?)<\/pre>/g)].map(([, text]) => text);
    expect(folds).toEqual([
      'result\n&#60;result tool&#61;&#34;find&#34;&#62;\n{&#34;title&#34;:&#34;A \\&#34;b\\&#34;&#34;}\n&#60;/result&#62;',
      'body\nOne\nTwo\n\nresult\nx',
    ]);
  });

  it('tells of a program’s own tool in a line what it was for and what came of it, all else on demand', () => {
    const tools = [
      { name: 'Bash', input: { description: 'Tests', command: 'npm test\nexit' } },
      {
        name: 'result',
        ok: false,
        result: [{ type: 'text', text: '\n<b>3 failed</b>\nmore' }],
        exit_code: 1,
      },
      { name: 'Write', denied: true, message: 'not allowed' },
      { name: 'web_search', detail: { changes: 1 } },
      { name: 'command', command: 'x'.repeat(500) },
    ];
    const shown = transcriptEntries(
      tools.map((payload, index) => ({ seq: index + 1, kind: 'tool', payload, created_at: at })),
    );
    expect(shown.match(/<a class="t-link"/g)).toHaveLength(tools.length);
    expect(shown).not.toMatch(/<summary>\s*<a /);
    const summaries = [...shown.matchAll(/<summary>([^]*?)<\/summary>/g)].map(([, text]) =>
      text!
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
    expect(summaries).toEqual([
      'Bash npm test',
      'failed &#60;b&#62;3 failed&#60;/b&#62;',
      'Write refused not allowed',
      'web_search {&#34;changes&#34;:1}',
      `command ${'x'.repeat(160)}…`,
    ]);
    expect(shown).toContain('exit_code\n1');
    expect(shown.match(/data-ok="false"/g)).toHaveLength(2);
  });
});
