/** Topics of the live stream: what a tab shows (a board, an issue, a run …) and what an event is about. */
import { invalid, isUuid } from '@acp/kernel';

/** Lists: `issues` is a board. `admin`: notifications for admins. `workers`: the fleet, for instance admins. */
const listTopics = [
  'issues',
  'comments',
  'agents',
  'runs',
  'projects',
  'approvals',
  'budgets',
  'knowledge',
  'plugins',
  'workers',
  'admin',
] as const;

/** Single entities, as `<kind>:<id>`. */
const topicKinds = ['issue', 'agent', 'run', 'approval', 'chat', 'council', 'plugin'] as const;

export type ListTopic = (typeof listTopics)[number];
export type Topic = ListTopic | `${(typeof topicKinds)[number]}:${string}`;

/** Maximum number of topics per stream. */
const MAX_TOPICS = 50;

/**
 * Parses the comma-separated `?topic=`; undefined means everything.
 * @throws invalid for an unknown topic, and for more than 50
 */
export function parseTopics(list: string | undefined): Topic[] | undefined {
  const words = (list ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) return undefined;
  const topics = [...new Set(words)];
  if (topics.length > MAX_TOPICS) throw invalid(`query.topic: more than ${MAX_TOPICS} topics`);
  const unknown = topics.find((word) => !isTopic(word));
  if (unknown !== undefined) throw invalid(`query.topic: unknown topic ${unknown.slice(0, 100)}`);
  return topics.filter(isTopic);
}

export function isTopic(word: string): word is Topic {
  if (listTopics.some((topic) => topic === word)) return true;
  const [kind, id = '', ...rest] = word.split(':');
  return topicKinds.some((known) => known === kind) && rest.length === 0 && isUuid(id);
}

/** Topics that get a transcript's frames. */
export function transcriptTopics({ run_id, topic }: { run_id: string; topic: Topic | null }): Topic[] {
  return topic === null ? [`run:${run_id}`] : [`run:${run_id}`, topic];
}

/** No topic without an issue. */
export function issueTopic(issue_id: string | null): Topic[] {
  return issue_id === null ? [] : [`issue:${issue_id}`];
}
