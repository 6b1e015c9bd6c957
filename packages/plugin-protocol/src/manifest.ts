import { type CheckedManifest, LONGEST_SCHEMA, type PluginManifest } from '@acp/contract';
import { ProtocolError } from './protocol-error.ts';

/**
 * What the schema of a manifest does not say: names are unique, input schemas are of a size that is compiled. Schedules
 * are the host's to read.
 * @throws ProtocolError
 */
export function checkManifest({ name, tools, events, jobs, webhooks }: PluginManifest): CheckedManifest {
  const manifest = {
    name,
    tools: tools ?? [],
    events: [...new Set(events)],
    jobs: jobs ?? [],
    webhooks: webhooks ?? [],
  };
  // By its plain name a tool is called, by its qualified one it is found: both have to be one tool's.
  once(
    'tool',
    manifest.tools.map((tool) => tool.name),
  );
  once(
    'job',
    manifest.jobs.map((job) => job.name),
  );
  once(
    'webhook',
    manifest.webhooks.map(({ path }) => path),
  );
  // The database keeps no such texts.
  const json = JSON.stringify(manifest);
  if (/\\u0000|\\ud[89a-f]/.test(json.replaceAll('\\\\', '')))
    throw new ProtocolError('manifest: a text holds NUL or half a character');
  for (const { name: tool, input_schema } of manifest.tools)
    if (JSON.stringify(input_schema).length > LONGEST_SCHEMA)
      throw new ProtocolError(`manifest: the input schema of tool ${tool} is longer than ${LONGEST_SCHEMA}`);
  return manifest;
}

function once(what: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new ProtocolError(`manifest: there are two ${what}s of the name ${name}`);
    seen.add(name);
  }
}
