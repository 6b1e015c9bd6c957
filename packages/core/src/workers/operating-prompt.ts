import { PROMPT_VERSION } from '@acp/contract';
import { readFileSync } from 'node:fs';

/**
 * The operating contract for models behind remote workers, as Markdown. It has its own version (specification, Versioning 2): a
 * change of its promises is a new file and a new PROMPT_VERSION.
 */
export const operatingPrompt = readFileSync(
  new URL(`operating-prompt-${PROMPT_VERSION}.md`, import.meta.url),
  'utf8',
);
