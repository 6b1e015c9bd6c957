import type { Scrubber } from '@acp/kernel';
import type { HeldRun } from './held-run.ts';
import type { Transcript } from './transcript.ts';

/** What belongs to one execution of a run. */
export interface RunParts {
  held: HeldRun;
  scrubber: Scrubber;
  transcript: Transcript;
}
