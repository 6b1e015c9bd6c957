import { type CheckedManifest, LONGEST_SCHEMA, type PluginManifest } from '@acp/contract';
import { ProtocolError } from './protocol-error.ts';

/**
 * Checks what a manifest's schema can't express: names are unique and input schemas are small enough to compile. Schedules
 * are parsed by the host.
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
  // A tool is called by its plain name and looked up by its qualified one, so both must be unique.
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
  // The database can't store such texts.
  const json = JSON.stringify(manifest);
  if (/\\u0000|\\ud[89a-f]/.test(json.replaceAll('\\\\', '')))
    throw new ProtocolError('manifest: a text contains NUL or an unpaired surrogate');
  for (const { name: tool, input_schema } of manifest.tools)
    if (JSON.stringify(input_schema).length > LONGEST_SCHEMA)
      throw new ProtocolError(`manifest: the input schema of tool ${tool} is longer than ${LONGEST_SCHEMA}`);
  return manifest;
}

function once(what: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new ProtocolError(`manifest: there are two ${what}s named ${name}`);
    seen.add(name);
  }
}
