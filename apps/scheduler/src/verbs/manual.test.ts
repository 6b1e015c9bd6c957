import { describe, expect, it } from '@jest/globals';
import { toolTable, verbTable } from '@acp/contract';
import { verbsManual } from './manual.ts';
import { parse } from './parse.ts';

describe('the verbs manual', () => {
  const manual = verbsManual();

  it('names every verb that is implemented, and no other', () => {
    for (const verb of verbTable) {
      const form = verb.name === 'mcp:' ? '/mcp:TOOL' : `/${verb.name}`;
      const named = manual.split('\n').some((line) => new RegExp(`^${form}[ :]`).test(line));
      expect([verb.name, named]).toEqual([verb.name, verb.available]);
    }
  });

  it('shows forms that the parser accepts', () => {
    const lines = manual.split('\n').filter((line) => line.startsWith('/'));
    for (const line of lines)
      expect(parse(line.slice(0, line.indexOf(': '))).actions).toEqual([expect.anything()]);
    expect(lines.find((line) => line.startsWith('/relates'))).toContain('Also /relates-to.');
    expect(lines.find((line) => line.startsWith('/create-issue'))).toContain('Takes a body (optional).');
    expect(lines.find((line) => line.startsWith('/get-issue'))).toContain('your next turn');
  });

  it('shows each tool with its fields, as a line that the parser accepts', () => {
    expect(manual).toContain('/mcp:TOOL {json}: ');
    expect(manual).toContain('- create_issue(title, body_markdown?, ');
    for (const { name } of toolTable) {
      expect(manual).toContain(`- ${name}(`);
      expect(parse(`/mcp:${name} {}`).actions).toEqual([expect.objectContaining({ verb: 'mcp:' })]);
    }
  });
});
