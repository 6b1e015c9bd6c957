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
});
