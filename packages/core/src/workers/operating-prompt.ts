import { PROMPT_VERSION } from '@acp/contract';
import { repositoryRoot } from '@acp/kernel';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The operating contract for models behind remote workers, as Markdown. It has its own version (specification, Versioning 2): a
 * change of its promises is a new file and a new PROMPT_VERSION.
 */
export const operatingPrompt = readFileSync(
  join(repositoryRoot, `packages/core/src/workers/operating-prompt-${PROMPT_VERSION}.md`),
  'utf8',
);
