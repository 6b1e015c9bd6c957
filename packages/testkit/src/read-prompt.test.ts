import { describe, expect, it } from '@jest/globals';
import { readPrompt } from './read-prompt.ts';

const prompt = (user: string, system = 'You are Ada (role: engineer).') => ({
  messages: [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ],
});

describe('what a script reads from a prompt', () => {
  it('is the issue with its own headings, without what the company knows, and what was done', () => {
    const known = '# From the company’s knowledge\n<knowledge>\nIt is blue.\n</knowledge>';
    const own = 'A-1: Paint\nStatus: todo\n\n<issue_body>\nDo it.\n\n# How\nGreen.\n</issue_body>';
    const done = '# Done already\n- /create-issue Buy paint';
    expect(readPrompt(prompt(`${known}\n\n# Your issue\n${own}\n\n${done}\n\n# Now\nWork on it.`))).toEqual({
      agent: 'Ada',
      issue: { identifier: 'A-1', title: 'Paint', text: own },
      done_already: '- /create-issue Buy paint',
    });
  });

  it('is no issue only if the prompt says so, in words that are known', () => {
    const without = prompt('# Now\nSee what is to be done. There is no issue at hand.');
    expect(readPrompt(without)).toEqual({ agent: 'Ada', issue: null, done_already: '' });
    expect(() => readPrompt(prompt('# Your task\nA-1: Paint\n\n# Now\nWork on it.'))).toThrow('neither with');
    expect(() => readPrompt(prompt('# Now\nWork on it.', 'Your name is Ada.'))).toThrow('names no agent');
  });
});
