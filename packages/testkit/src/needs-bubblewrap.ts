import { findBubblewrap } from '@acp/kernel';

/** `describe` where bubblewrap works; elsewhere its `skip`, and why is said. */
export async function needsBubblewrap<Skip>(describe: Skip & { skip: Skip }): Promise<Skip> {
  const found = await findBubblewrap();
  if ('file' in found) return describe;
  process.stderr.write(`not tested without bubblewrap: ${found.reason}\n`);
  return describe.skip;
}
