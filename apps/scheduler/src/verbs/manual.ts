// The verbs manual: the part of every prompt that tells an agent how to act. It is generated, so it never mentions a
// verb that the engine would not obey.

import { toolFields, type ToolRow, toolTable, verbForm, verbTable, type VerbRow } from '@acp/contract';

const rules = `You act by action verbs. A verb stands alone on its line, at the very start of the line, outside code blocks.
Everything else that you write is your text.
- An issue is named by its identifier (ABC-12) or id; without one, the verb means the issue that you are working on, if there is one.
- An agent is named by its exact name or id; a name with spaces goes in double quotes.
- CAPITALS stand for your words, […] is optional, … takes the rest of the line. Values with spaces: key="two words".
- A body is a fenced block right after the verb's line. Use a longer fence (\`\`\`\`) when the body itself has \`\`\` in it.`;

function describe(verb: VerbRow): string {
  const notes = [
    verb.body === 'none' ? '' : `Takes a body${verb.body === 'optional' ? ' (optional)' : ''}.`,
    verb.read ? 'The answer comes in your next turn.' : '',
    verb.aliases.length === 0 ? '' : `Also ${verb.aliases.map((alias) => `/${alias}`).join(', ')}.`,
  ];
  return [`${verbForm(verb)}: ${verb.doc}`, ...notes.filter((note) => note !== '')].join(' ');
}

/** `create_note(title, body_markdown?)`: names are enough, and the answer reports what is wrong with a value. */
function describeTool(tool: ToolRow): string {
  return `- ${tool.name}(${toolFields(tool)}): ${tool.doc}`;
}

/** Builds the text for the prompt, with the values that the board's vocabulary allows. */
export function verbsManual(verbs: readonly VerbRow[] = verbTable): string {
  const lines = verbs.filter((verb) => verb.available).map(describe);
  return `${rules}

STATUS is one of backlog, todo, in_progress, in_review, done, cancelled, blocked. PRIORITY is one of critical, high, medium, low.

${lines.join('\n')}

# Tools
Each is called by a line /mcp:TOOL {json}, such as /mcp:get_issue {"issue": "ABC-12"}, and answers in JSON.
${toolTable.map(describeTool).join('\n')}
`;
}
