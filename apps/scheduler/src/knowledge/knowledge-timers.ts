import type { TimerRow } from '../context.ts';
import { readFileTexts } from './read-file-texts.ts';

export const knowledgeTimers: readonly TimerRow[] = [
  // What makes a text pending is signalled; a text lost with its scheduler is found within half a minute of its ten.
  { name: 'agent-file-texts', interval_sec: 5, rest_sec: 30, work: readFileTexts },
];
