/** Which roles fit a question, judged by its words. Pure. */
import type { AgentRole } from '@acp/contract';

/** Prefixes of words that a role's work is about. */
const interests: Readonly<Record<AgentRole, readonly string[]>> = {
  ceo: ['strateg', 'vision', 'priorit', 'company', 'decid', 'decision', 'market'],
  cfo: ['cost', 'budget', 'price', 'pricing', 'money', 'revenue', 'invoice', 'financ', 'spend', 'tax'],
  cio: ['data', 'system', 'infrastructure', 'vendor', 'licens', 'integration', 'security'],
  clo: ['legal', 'law', 'contract', 'licens', 'privacy', 'complian', 'gdpr', 'terms', 'liab'],
  cmo: ['market', 'brand', 'campaign', 'customer', 'newsletter', 'audience', 'launch', 'advert', 'content'],
  cro: ['sale', 'revenue', 'lead', 'customer', 'deal', 'pipeline', 'conversion', 'churn', 'checkout'],
  cto: ['architect', 'technical', 'technolog', 'code', 'platform', 'rewrite', 'migrat', 'scal', 'database'],
  designer: ['design', 'layout', 'page', 'ui', 'ux', 'usab', 'screen', 'colour', 'color', 'mobile', 'phone'],
  devops: [
    'deploy',
    'server',
    'cloud',
    'monitor',
    'outage',
    'release',
    'kubernetes',
    'docker',
    'backup',
    'ci',
  ],
  engineer: [
    'code',
    'bug',
    'implement',
    'build',
    'api',
    'fix',
    'refactor',
    'database',
    'web',
    'test',
    'slow',
  ],
  general: [],
  pm: ['plan', 'scope', 'deadline', 'roadmap', 'priorit', 'feature', 'requirement', 'milestone', 'user'],
  qa: ['test', 'bug', 'quality', 'regress', 'reproduc', 'verify', 'coverage', 'flaky'],
  researcher: [
    'research',
    'find',
    'survey',
    'compare',
    'evidence',
    'interview',
    'reader',
    'study',
    'why',
    'measure',
  ],
  scout: ['discover', 'competitor', 'trend', 'opportunit', 'look', 'scan', 'source'],
  triage: ['route', 'assign', 'urgent', 'sort', 'duplicate', 'inbox'],
};

/** Shorter words of titles and descriptions are ignored. */
const SHORTEST = 4;

/** How many of the question's words relate to the agent's work. */
export function roleFit(
  question: string,
  { role, title, description }: { role: AgentRole; title: string | null; description: string | null },
): number {
  const asked = wordsOf(question);
  const own = [...wordsOf(`${title ?? ''} ${description ?? ''}`)].filter((word) => word.length >= SHORTEST);
  const about = new Set([...interests[role], ...own]);
  let fit = 0;
  for (const word of asked) {
    const hit = [...about].some((each) => (each.length < SHORTEST ? word === each : word.startsWith(each)));
    if (hit) fit += 1;
  }
  return fit;
}

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
