/** A company's admin managing plugins over HTTP. */
import path from 'node:path';
import type { Api } from '../process/api.ts';

export interface Plugin {
  id: string;
  state: string;
  approval_state: string;
  approved_binary_hash: string | null;
  error: string | null;
  sandbox: string | null;
}

export const program = path.resolve(import.meta.dirname, 'plugin.mjs');

export type Operator = ReturnType<typeof pluginOperator>;

export function pluginOperator(api: Api, company_id: string) {
  let made = 0;
  async function install(config: object = {}, binary = program): Promise<Plugin> {
    made += 1;
    const namespace = `n${made}`;
    return api.call('POST', `/api/companies/${company_id}/plugins`, {
      name: `Plugin ${made}`,
      slug: namespace,
      binary_path: binary,
      config: { namespace, ...config },
    });
  }

  const act = async ({ id }: Plugin, what: string) => api.send('POST', `/api/plugins/${id}/${what}`);
  const done = async (plugin: Plugin, what: string): Promise<Plugin> =>
    api.call('POST', `/api/plugins/${plugin.id}/${what}`);
  const look = async ({ id }: Plugin) => api.call<Plugin>('GET', `/api/plugins/${id}`);
  const log = async ({ id }: Plugin) =>
    api.call<{ type: string; message: string; to_state: string | null }[]>(
      'GET',
      `/api/plugins/${id}/events?limit=500`,
    );
  const refusal = async (response: Response): Promise<unknown[]> => [
    response.status,
    ((await response.json()) as { error: string }).error,
  ];

  async function running(config: object = {}, binary = program): Promise<Plugin> {
    const plugin = await install(config, binary);
    await done(plugin, 'allow');
    return done(plugin, 'start');
  }

  const invoke = async ({ id }: Plugin, tool: string, input: object = {}) =>
    api.send('POST', `/api/plugins/${id}/tools/invoke`, { tool, input });
  async function result<T = unknown>(plugin: Plugin, tool: string, input: object = {}): Promise<T> {
    const response = await invoke(plugin, tool, input);
    const body = (await response.json()) as { result: T };
    if (!response.ok) throw new Error(`${tool}: ${response.status} ${JSON.stringify(body)}`);
    return body.result;
  }
  const host = async (plugin: Plugin, service: string, args: object) =>
    result<{ result: unknown; error: unknown }>(plugin, 'host', { service, args });
  const remove = async ({ id }: Plugin) => (await api.send('DELETE', `/api/plugins/${id}`)).status;

  /** Calls it repeatedly in the background, and collects the outcomes. */
  function callMeanwhile(plugin: Plugin) {
    const over = new AbortController();
    const answers = new Set<string>();
    const calling = async () => {
      while (!over.signal.aborted) {
        const response = await invoke(plugin, 'echo', { text: 'meanwhile' });
        await response.text();
        const after = response.headers.get('retry-after');
        answers.add(`${response.status}${after === null ? '' : `, after ${after}`}`);
      }
    };
    const called = Promise.all([calling(), calling()]);
    return {
      async stop() {
        over.abort();
        await called;
        return [...answers];
      },
    };
  }

  return { install, act, done, look, log, refusal, running, invoke, result, host, remove, callMeanwhile };
}
