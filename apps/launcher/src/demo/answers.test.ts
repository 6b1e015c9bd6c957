import { describe, expect, it } from '@jest/globals';
import { answer } from './answers.ts';
import { readPrompt, type ChatMessage } from './read-prompt.ts';

const list = `Wanted for May.

- Choose ten books for the list.
- Build a page for it.`;

interface Given {
  name?: string;
  role?: string;
  status?: string;
  body?: string;
  below?: string;
}

function prompt({
  name = 'Ada',
  role = 'ceo',
  status = 'todo',
  body = list,
  below = '',
}: Given): ChatMessage[] {
  const system = `You turn goals into work.\n\nYou are ${name} (role: ${role}), an agent of the company Harbour Books.`;
  const user = `# Why you were woken
- assignment, 2026-04-01T10:00:00.000Z

# Colleagues
- Ada (role: ceo)
- Grace Hopper (role: engineer): Web engineer
- Linus (role: researcher)

# Your issue
HAR-1: Put the list on the web
Status: ${status}
Priority: high
Assignee: ${name}

<issue_body>
${body}
</issue_body>

${below}

# Now
Work on it.`;
  return [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];
}

const children = (...statuses: string[]): string =>
  `Children:\n- HAR-2 [${statuses[0]}, assigned to Linus] Choose ten books for the list
- HAR-3 [${statuses[1]}, assigned to Grace Hopper] Build a page for it`;

describe('the prompt as the scripted model reads it', () => {
  it('gives agent, colleagues, reasons, issue and children', () => {
    const reading = readPrompt(prompt({ below: children('done', 'todo') }));
    expect(reading).toMatchObject({
      agent: { name: 'Ada', role: 'ceo' },
      reasons: ['assignment'],
      turn: 1,
      issue: {
        identifier: 'HAR-1',
        title: 'Put the list on the web',
        status: 'todo',
        body: list,
        parent: null,
      },
    });
    expect(reading.colleagues.map(({ name }) => name)).toEqual(['Ada', 'Grace Hopper', 'Linus']);
    expect(reading.issue!.children).toEqual([
      { identifier: 'HAR-2', status: 'done', assignee: 'Linus', title: 'Choose ten books for the list' },
      { identifier: 'HAR-3', status: 'todo', assignee: 'Grace Hopper', title: 'Build a page for it' },
    ]);
  });

  it('takes no list of the description for children of the issue', () => {
    const reading = readPrompt(prompt({ body: children('done', 'done') }));
    expect(reading.issue!.children).toEqual([]);
  });
});

describe('the scripted chief', () => {
  it('gives each point of the list to the fitting colleague, and blocks the issue before', () => {
    const lines = answer(prompt({})).split('\n');
    const verbs = lines.filter((line) => line.startsWith('/'));
    expect(verbs).toEqual([
      '/status blocked',
      '/create-issue Choose ten books for the list assignee=Linus parent=HAR-1',
      '/create-issue Build a page for it assignee="Grace Hopper" parent=HAR-1',
    ]);
    expect(lines).toContain('Done when: Build a page for it.');
  });

  it('makes only what is missing after an interrupted run', () => {
    const below = `Children:\n- HAR-2 [done, assigned to Linus] Choose ten books for the list`;
    const text = answer(prompt({ below }));
    expect(text).not.toContain('/create-issue Choose');
    expect(text).toContain('/create-issue Build a page for it');
  });

  it('hands over what has no parts', () => {
    expect(answer(prompt({ body: 'Ask our readers.' }))).toContain('/assign Linus');
  });

  it('waits while a part is open and closes the issue once all are over', () => {
    expect(answer(prompt({ below: children('done', 'in_progress') }))).toMatch(/HAR-3.*\n\n\/status blocked/);
    expect(answer(prompt({ below: children('done', 'cancelled') }))).toMatch(/\/status done$/);
  });

  it('reports the whole; of what comes back every year it makes a routine, and asks before it is told to customers', () => {
    const once = answer(prompt({ below: children('done', 'done') }));
    expect(once).toContain('/report Put the list on the web\n```\n- HAR-2: Choose ten books');
    expect(once).not.toContain('/promote-routine');
    const yearly = answer(prompt({ below: children('done', 'done'), body: `Wanted every year.\n\n${list}` }));
    expect(yearly).toContain('\n/promote-routine 0 9 1 3 *\n');
    expect(yearly).toContain('\n/request-approval action Tell our customers of HAR-1\n```\n');
  });

  it('leaves a closed issue alone', () => {
    expect(answer(prompt({ status: 'done' }))).not.toMatch(/^\//m);
  });
});

describe('the scripted colleague', () => {
  const part = { name: 'Linus', role: 'researcher', body: 'Done when: ten books are chosen.' };
  const below = 'Parent: HAR-9 [blocked, assigned to Ada] The spring campaign';

  it('reads the parent in the first turn and is done in the second', () => {
    const first = prompt({ ...part, below });
    expect(answer(first)).toContain('/status in_progress\n\n/get-issue HAR-9');
    const second = [
      ...first,
      { role: 'assistant', content: '…' },
      { role: 'user', content: 'Answer to /get-issue' },
    ];
    const withSkills = prompt({ ...part, below });
    const [system, user] = withSkills;
    const skilled = user!.content.replace(
      '# Your issue',
      '# Your skills\n- house-style: How\n\n# Your issue',
    );
    expect(answer([system!, { role: 'user', content: skilled }])).toMatch(/\n\/use-skill house-style$/);
    expect(answer(second)).toMatch(/ten books are chosen[\s\S]*\/status done$/);
  });

  it('leaves what fits the task: a file, a finding or a report', () => {
    const left = (title: string) => {
      const [system, user] = prompt(part);
      return answer([
        system!,
        { ...user!, content: user!.content.replace('Put the list on the web', title) },
      ]);
    };
    expect(left('Build a page')).toContain('\n/write-file what-was-built/build-a-page.md\n```\nBuilt in');
    expect(left('Ask our readers')).toContain('\n/record-finding Ask our readers\n```\nAsked twelve');
    expect(left('Choose ten books')).toContain('\n/report Choose ten books\n```\nWent through');
    expect(left('Rest')).not.toMatch(/\/(?:report|write-file|record-finding)/);
  });

  it('does an issue without a parent in one turn', () => {
    expect(answer(prompt(part))).toMatch(/^\/status in_progress\n[\s\S]*\n\/status done$/);
  });
});

describe('the scripted participant of a council', () => {
  const system = {
    role: 'system',
    content: 'You are Ada (role: ceo), an agent of X.\n\nYou take part in a council: …',
  };
  const asked = (now: string): string =>
    answer([system, { role: 'user', content: `# The issue\nHAR-9: Why?\n\n# Now\n${now}` }]);

  it('answers, keeps its answer, ranks by the letters that it is shown, and concludes as the chair', () => {
    expect(asked('Answer the question.')).toContain('second shop');
    expect(asked('write the one word KEEP and nothing else')).toBe('KEEP');
    expect(asked('Rank the answers of the others.\nRANKING: A > B\nThen say')).toMatch(/^RANKING: A > B\n/);
    expect(asked('You have the chair. Write')).toContain('## Dissent');
  });

  it('goes by what the council has concluded', () => {
    const below =
      'Comments, oldest first:\n<comment author="Ada">\nWe do.\n\n_Council of Ada, Grace._\n</comment>';
    expect(answer(prompt({ status: 'blocked', body: 'No parts.', below }))).toMatch(/\/status done$/);
  });
});

describe('the scripted model, asked to compile the index', () => {
  it('tells each outcome once, under the topic of its source, and nothing of a source without one', () => {
    const source = (id: string, title: string, text: string) =>
      `<knowledge id="${id}" title="${title}">\n${text}\n</knowledge>`;
    const content = [
      source('K1', 'The checkout', '# It\nAsked twelve people, nine answered. Well.'),
      source('K2', 'A report', 'Asked twelve people, nine answered.'),
      source('K3', 'Nothing', 'Who knows.'),
    ].join('\n');
    const said = answer([
      { role: 'system', content: 'You keep the index of what a company knows: one page.' },
      { role: 'user', content },
    ]);
    expect(JSON.parse(said)).toEqual({
      statements: [{ topic: 'Checkout', text: 'Asked twelve people, nine answered.', sources: ['K1', 'K2'] }],
    });
  });
});
