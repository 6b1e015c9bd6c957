import type { PromptFacts } from '@acp/core';
import { inline, quoted } from '@acp/adapters';

type Subagent = PromptFacts['subagents'][number];

// Total for all results, in characters: each one is included, cut to its share.
const RESULTS = 60_000;
const LEAST = 800;

/** Lists the sub-agents that the agent has spawned for its issue, with their results. */
export function renderSubagents({ subagents }: Pick<PromptFacts, 'subagents'>): string[] {
  if (subagents.length === 0) return [];
  const ended = subagents.filter(({ outcome }) => outcome !== null).length;
  const share = Math.max(LEAST, Math.floor(RESULTS / Math.max(1, ended)));
  const living = subagents.length - ended;
  const now =
    living === 0
      ? 'All have ended. What they wrote stands here; build on it, and do not spawn them again for the same.'
      : `${living} of them still work. Where you can't go on without them, use /await-subagents.`;
  return [now, ...subagents.map((each) => renderOne(each, share))];
}

function renderOne(
  { name, role, identifier, title, status, outcome, result }: Subagent,
  share: number,
): string {
  const line = `- ${inline(name, 200)} (role: ${role}) on ${identifier} [${outcome ?? `works, ${status}`}] ${inline(title, 200)}`;
  if (outcome === null) return line;
  const text = result?.trim();
  return `${line}\n${text ? quoted('result', text, share, { of: identifier, outcome }) : 'It left no text.'}`;
}

/** Tells a sub-agent what its position is. */
export function subagentRules({ spawned_by: by }: Pick<PromptFacts, 'spawned_by'>): string {
  if (by === null) return '';
  return `# You are a sub-agent
${inline(by.name, 200)} has spawned you for this one issue (level ${by.depth} of 3). Do what its description asks and nothing beyond. Your text is your result: it is handed to whoever spawned you, so make it complete in itself. When your run ends your issue is closed as done and you end with it, unless you set it blocked, ask by /await-input or wait by /await-subagents. Where you can't do it, say why and set the status cancelled.`;
}
