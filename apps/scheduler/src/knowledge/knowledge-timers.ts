import { compileDue } from '../compile-due.ts';
import type { TimerRow } from '../context.ts';
import { readFileTexts } from './read-file-texts.ts';

/** What is known, and how it is put together. */
export const knowledgeTimers: readonly TimerRow[] = [
  { name: 'compiles', interval_sec: 15, work: compileDue },
  { name: 'agent-file-texts', interval_sec: 5, work: readFileTexts },
];
