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
/** Longer runs of letters are no words. */
const LONGEST = 40;
/** How much of a description is read. */
const READ = 5000;

/** How many of the question's words relate to the agent's work: begin with a word that it is about. */
export function roleFit(
  question: string,
  { role, title, description }: { role: AgentRole; title: string | null; description: string | null },
): number {
  const own = wordsOf(`${title ?? ''} ${(description ?? '').slice(0, READ)}`);
  const about = new Set([...interests[role], ...[...own].filter((word) => word.length >= SHORTEST)]);
  return [...wordsOf(question)].filter((word) => beginnings(word).some((each) => about.has(each))).length;
}

/** The word, and what it may be a form of. */
function beginnings(word: string): string[] {
  const lengths = Array.from({ length: Math.max(0, word.length - SHORTEST) }, (_, at) => at + SHORTEST);
  return [word, ...lengths.map((length) => word.slice(0, length))];
}

const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => word.length <= LONGEST));
