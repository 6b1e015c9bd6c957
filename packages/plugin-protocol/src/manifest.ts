import { bareWebhookPath, type CheckedManifest, LONGEST_SCHEMA, type PluginManifest } from '@acp/contract';
import { ProtocolError } from './protocol-error.ts';

/**
 * Fills in what a manifest omits, and checks what its schema can't express: names are unique and input schemas are small
 * enough to compile. Schedules are parsed by the host.
 * @throws ProtocolError
 */
export function checkManifest({ name, tools, events, jobs, webhooks }: PluginManifest): CheckedManifest {
  const manifest = {
    name,
    tools: (tools ?? []).map(({ description, input_schema, ...tool }) => ({
      ...tool,
      description: description ?? '',
      input_schema: input_schema ?? { type: 'object' },
    })),
    events: [...new Set(events)],
    jobs: jobs ?? [],
    webhooks: (webhooks ?? []).map(({ path: declared }) => {
      const path = bareWebhookPath(declared);
      return path === declared ? { path } : { path, declared };
    }),
  };
  once(
    'tool',
    manifest.tools.map((tool) => `${tool.namespace}:${tool.name}`),
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
