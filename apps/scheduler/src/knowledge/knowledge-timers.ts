import { compileDue } from '../compile-due.ts';
import type { TimerRow } from '../context.ts';
import { readFileTexts } from './read-file-texts.ts';

/** Timers that start due compilations and extract the texts of files. */
export const knowledgeTimers: readonly TimerRow[] = [
  { name: 'compiles', interval_sec: 15, work: compileDue },
  { name: 'agent-file-texts', interval_sec: 5, work: readFileTexts },
];
