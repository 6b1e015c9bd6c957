import type { AgentRole } from './agents.ts';

/** The symbol that represents an agent's role: a single character that needs no web font. */
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
