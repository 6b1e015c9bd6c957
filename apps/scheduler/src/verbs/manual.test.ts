import { describe, expect, it } from '@jest/globals';
import { verbTable } from '@acp/contract';
import { verbsManual } from './manual.ts';
import { parse } from './parse.ts';

describe('the verbs manual', () => {
  const manual = verbsManual();

  it('names every verb that is implemented, and no other', () => {
    for (const verb of verbTable) {
      const named = manual.split('\n').some((line) => new RegExp(`^/${verb.name}[ :]`).test(line));
      expect([verb.name, named]).toEqual([verb.name, verb.available]);
    }
  });

  it('shows forms that the parser accepts', () => {
    const lines = manual.split('\n').filter((line) => line.startsWith('/'));
    for (const line of lines) expect(parse(line.slice(0, line.indexOf(':'))).actions).toHaveLength(1);
    expect(lines.find((line) => line.startsWith('/relates'))).toContain('Also /relates-to.');
    expect(lines.find((line) => line.startsWith('/create-issue'))).toContain('Takes a body (optional).');
    expect(lines.find((line) => line.startsWith('/get-issue'))).toContain('your next turn');
  });

  it('shows a tool call once that verb is available', () => {
    const mcp = verbTable.filter(({ name }) => name === 'mcp:').map((row) => ({ ...row, available: true }));
    expect(verbsManual(mcp)).toContain('/mcp:TOOL {json}: ');
  });
});
