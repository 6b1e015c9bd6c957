// The action verbs (specification, behaviour rules 5 and 6; decisions 5) as one table. The parser, the applier,
// the verbs manual in the prompt and the completeness tests all read this table and nothing else.

export interface VerbRow {
  /** Canonical, in kebab-case. In text, `_` is accepted for `-`. */
  name: string;
  aliases: readonly string[];
  /** Arguments on the line. CAPITALS are positional, `…` takes the rest of the line, `[key=]` is optional. */
  grammar: string;
  /** The positional arguments in the grammar, in order and in lower case; they can be given as `key=` too. */
  params: readonly { name: string; optional: boolean }[];
  /** The `key=` arguments in the grammar. */
  keys: readonly string[];
  /** Whether the positional part is free text: then a word with `=` and an unknown key is part of the text. */
  free_text: boolean;
  /** Whether the fenced block directly after the line is the verb's body. */
  body: 'none' | 'optional' | 'required';
  /** Its result is passed to the next turn of the same run. */
  read: boolean;
  /** Changes rows of the company. */
  mutating: boolean;
  /** Also accepted in a remote worker's result (behaviour rule 6). */
  remote: boolean;
  /** Also accepted in chats, where there is no current issue. */
  chats: boolean;
  /** Implemented: only such verbs are documented to agents. */
  available: boolean;
  doc: string;
}

type Marks = Partial<
  Pick<VerbRow, 'aliases' | 'body' | 'read' | 'mutating' | 'remote' | 'chats' | 'available'>
>;

function row(name: string, grammar: string, doc: string, marks: Marks = {}): VerbRow {
  const read = marks.read ?? false;
  return {
    name,
    aliases: [],
    grammar,
    params: [...grammar.matchAll(/(\[?)\b([A-Z]+)\b/g)].map(([, bracket, word]) => ({
      name: word!.toLowerCase(),
      optional: bracket !== '',
    })),
    keys: [...grammar.matchAll(/\[([a-z_]+)=/g)].map((match) => match[1]!),
    free_text: grammar.includes('…'),
    body: 'none',
    read,
    // A verb either reads or writes; the waiting ones (await-*) change the issue.
    mutating: !read,
    remote: false,
    chats: true,
    available: false,
    doc,
    ...marks,
  };
}

const now = { available: true } as const;
const nowAndRemote = { available: true, remote: true } as const;
/** These concern the issue that the run works on. */
const issueOnly = { available: true, chats: false } as const;

const issueVerbs: readonly VerbRow[] = [
  row('status', 'STATUS [ISSUE]', 'Sets the status of the issue.', nowAndRemote),
  row('priority', 'PRIORITY [ISSUE]', 'Sets the priority of the issue.', nowAndRemote),
  row(
    'assign',
    'AGENT [ISSUE]',
    'Assigns the issue to an agent, who is woken; LABEL:AGENT gives it to an agent of a peer.',
    nowAndRemote,
  ),
  row('checkout', '[ISSUE]', 'Takes the issue, so that nobody else works on it.', issueOnly),
  row('release', '[ISSUE]', 'Gives back an issue that you hold.', { ...issueOnly, remote: true }),
  row(
    'create-issue',
    'TITLE… [priority=] [assignee=] [project=] [parent=]',
    'Creates an issue; the fenced block becomes its description. An assignee is woken.',
    { ...nowAndRemote, body: 'optional' },
  ),
  row('get-issue', '[ISSUE]', 'Shows an issue with its latest comments.', { ...now, read: true }),
  row('list-issues', '[status=] [assignee=] [priority=] [project=] [q=] [limit=]', 'Lists issues.', {
    ...now,
    read: true,
  }),
  row('blocks', 'ISSUE', 'Records that this issue blocks ISSUE.', { ...issueOnly, remote: true }),
  row('blocked-by', 'ISSUE', 'Records that ISSUE blocks this issue.', { ...issueOnly, remote: true }),
  row('relates', 'ISSUE', 'Records that both issues are related.', {
    ...issueOnly,
    remote: true,
    aliases: ['relates-to'],
  }),
  row(
    'needs-routing',
    '[TEXT…] [issue=]',
    'Asks for the issue to be handed to a better agent; TEXT says why.',
    issueOnly,
  ),
  row(
    'await-input',
    '[TEXT…] [issue=]',
    'Blocks the issue until a human answers; TEXT is the question.',
    issueOnly,
  ),
];

const knowledgeVerbs: readonly VerbRow[] = [
  row('create-note', 'TITLE…', 'Writes a note; the fenced block is its text.', { ...now, body: 'required' }),
  row('edit-note', 'NOTE…', 'Replaces the text of a note.', { ...now, body: 'required' }),
  row('get-note', 'NOTE…', 'Shows a note.', { ...now, read: true }),
  row('list-notes', '[kind=] [q=] [limit=]', 'Lists notes: kind is note, finding or memory.', {
    ...now,
    read: true,
  }),
  row('archive-note', 'NOTE…', 'Archives a note.', now),
  row('unarchive-note', 'NOTE…', 'Brings an archived note back.', now),
  row('record-finding', 'TITLE…', 'Records something learnt, for the whole company.', {
    ...now,
    body: 'required',
  }),
  row('use-skill', 'SLUG', 'Shows the text of a skill.', { ...now, read: true }),
  row('update-user-model', '', 'Replaces what is written down of the user who asks for the work.', {
    ...now,
    body: 'required',
  }),
  row('report', 'TITLE…', 'Adds a report to the issue as a work product.', {
    ...issueOnly,
    body: 'required',
    aliases: ['write-report'],
  }),
  row(
    'write-file',
    'PATH',
    'Writes a file among the attachments of the issue, and into its workspace where the agent works in one.',
    {
      ...issueOnly,
      remote: true,
      body: 'required',
    },
  ),
];

const installVerbs: readonly VerbRow[] = [
  row('install-memory', '', 'Makes a memory: title, body_markdown, tags.', { ...now, body: 'required' }),
  row('install-note', '', 'Makes a note: title, body_markdown, kind, tags.', { ...now, body: 'required' }),
  row('install-skill', '', 'Makes a skill of the text of a SKILL.md.', { ...now, body: 'required' }),
  row(
    'install-routine',
    '',
    'Makes a routine: name, title_template, body_template, priority, assignee, cron_expression, timezone.',
    { ...now, body: 'required' },
  ),
  row('install-agent', '', 'Hires an agent: name, role, title, description, system_prompt, reports_to.', {
    ...now,
    body: 'required',
  }),
  row('install-federation', '', 'Asks an admin to add a peer, whose agents can then be called: label, url.', {
    ...now,
    body: 'required',
  }),
];

const orchestrationVerbs: readonly VerbRow[] = [
  row(
    'request-approval',
    'TYPE TITLE…',
    'Asks a human to approve a plan, an action or a budget_override; the fenced block describes it.',
    { ...nowAndRemote, body: 'optional' },
  ),
  row('fire-routine', 'NAME…', 'Fires a routine.', now),
  row(
    'promote-routine',
    'CRON…',
    'Makes a recurring routine of the issue: five cron fields, in UTC.',
    issueOnly,
  ),
  row(
    'spawn-subagent',
    'ROLE TITLE…',
    'Starts a sub-agent on an issue of its own, below this one; the fenced block instructs it. It works with your adapter and at most your rights, and ends with its issue.',
    { ...issueOnly, body: 'required' },
  ),
  row(
    'await-subagents',
    '',
    'Parks the issue until the sub-agents that you spawned for it have ended; then you are woken once, with all their results.',
    issueOnly,
  ),
  row('await-subagents-recursive', '', 'The same, and those that they spawned have ended too.', issueOnly),
  // The only verb whose name includes its argument: `/mcp:TOOL {json}`.
  row('mcp:', 'TOOL {json}', 'Calls a tool of the company; the JSON may be in the fenced block instead.', {
    ...now,
    body: 'optional',
    read: true,
    mutating: true,
  }),
];

export const verbTable: readonly VerbRow[] = [
  ...issueVerbs,
  ...knowledgeVerbs,
  ...installVerbs,
  ...orchestrationVerbs,
];

/**
 * Reconstructs a verb's line from what the run stores: `args.line` is the text after the name. A tool's name directly follows
 * its colon.
 */
export function verbLine({ verb, args }: { verb?: unknown; args?: unknown }): string {
  const { line } = (args ?? {}) as { line?: unknown };
  const name = `/${typeof verb === 'string' ? verb : ''}`;
  return `${name}${name.endsWith(':') ? '' : ' '}${typeof line === 'string' ? line : ''}`.trim();
}

/** Maps every canonical name and alias, in kebab-case, to its row. */
export const verbByName: ReadonlyMap<string, VerbRow> = new Map(
  verbTable.flatMap((verb) => [verb.name, ...verb.aliases].map((name) => [name, verb] as const)),
);

/** The syntax of a verb's line: `/status STATUS [ISSUE]`. */
export function verbForm({ name, grammar }: Pick<VerbRow, 'name' | 'grammar'>): string {
  return verbLine({ verb: name, args: { line: grammar } });
}
