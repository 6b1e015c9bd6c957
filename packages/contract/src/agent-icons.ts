import type { AgentRole } from './agents.ts';

/** The sign by which an agent of the role is shown: one character, readable without a font of our own. */
export const agentIcons: Readonly<Record<AgentRole, string>> = {
  ceo: '👑',
  cfo: '💰',
  cio: '🗄️',
  clo: '⚖️',
  cmo: '📣',
  cro: '📈',
  cto: '🧭',
  designer: '🎨',
  devops: '🔧',
  engineer: '💻',
  general: '🤖',
  pm: '📋',
  qa: '🔍',
  researcher: '🔬',
  scout: '🔭',
  triage: '🚦',
};
