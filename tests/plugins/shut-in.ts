/** Confinement that plugin.mjs must not escape, whatever provides it. */
import { describe, expect } from '@jest/globals';
import { needsBubblewrap, waitFor } from '@acp/testkit';
import type { Operator, Plugin } from './operator.ts';

export const withBubblewrap = await needsBubblewrap(describe);

/** Without bubblewrap, plugins run bare, and all but their confinement is tested. */
export const here =
  withBubblewrap === describe
    ? { setting: 'bubblewrap', reported: 'bubblewrap' }
    : { setting: 'disabled', reported: 'bare' };

/** Environment variables of the service that `isBounded` requires. */
export const bounds = { SERVICE_PLUGIN_PIDS_LIMIT: '60', SERVICE_PLUGIN_WORKSPACE_LIMIT: '100MB' };

const refused = expect.stringContaining('refused');

/** Expected result of `tryToEscape`. */
export const shutIn = {
  network: refused,
  host_file: refused,
  accounts: refused,
  root: refused,
  usr: refused,
  device: refused,
  temp: 'done',
  temp_large: refused,
  workspace: 'done',
  workspace_large: refused,
  sees_others: false,
  env: expect.arrayContaining(['SERVICE_COMPANY_ID', 'SERVICE_PLUGIN_ID', 'SERVICE_PLUGIN_WORKSPACE']),
  told_secrets: [],
  sysctl: refused,
  binary: refused,
  docker: false,
};

/** @param outside an open port of this machine, and a world-readable file on it */
export async function tryToEscape(
  plugin: Plugin,
  { result }: Operator,
  outside: { port: number; secret_file: string },
): Promise<object> {
  const found = await result<{ processes: number; env: string[] }>(plugin, 'escape', outside);
  const { processes, ...rest } = found;
  const told_secrets = found.env.filter((name) => /DATABASE|KEY|TOKEN/.test(name));
  // Its own processes, and those of its sandbox.
  return { ...rest, sees_others: processes > 7, told_secrets };
}

/** Memory use kills it; extra processes are refused or, if the kernel does not count them by namespace, kill it as well. */
export async function isBounded(
  plugin: Plugin,
  { invoke, log, look }: Operator,
  memory_reason: string,
): Promise<boolean> {
  const says = async (reason: string) => (await log(plugin)).some(({ message }) => message.includes(reason));
  await invoke(plugin, 'memory', { megabytes: 600 });
  await waitFor(async () => says(memory_reason), { what: memory_reason });
  await waitFor(async () => (await look(plugin)).state === 'running');
  const response = await invoke(plugin, 'bomb', { processes: 200 });
  const { result: seen = 0 } = (await response.json()) as { result?: number };
  const ended = async () => says('it has more processes than 60');
  return response.ok ? seen <= 62 : waitFor(ended);
}
