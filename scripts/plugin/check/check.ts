/** `npm run plugin -- test`: takes a plugin in any language through the whole protocol (specification, Plugin process protocol). */
import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CheckedManifest, PLUGIN_PROTOCOL_VERSION } from '@acp/contract';
import { parseCron } from '@acp/core';
import { checkManifest } from '@acp/plugin-protocol';
import { DrivenPlugin } from './driven.ts';
import { tryMessages } from './messages.ts';
import { Report } from './report.ts';
import { validatorOf } from './samples.ts';
import { FakeServices, type ServiceOptions } from './services.ts';
import { tryTools } from './tools.ts';

export interface CheckOptions extends ServiceOptions {
  config: Record<string, unknown> | null;
  /** Inputs by tool name. */
  inputs: Readonly<Record<string, unknown>>;
  say: (line: string) => void;
}

const IDS = {
  plugin_id: '00000000-0000-4000-8000-000000000001',
  company_id: '00000000-0000-4000-8000-000000000002',
};
const READY_MS = 15_000;
const HEALTH_MS = 5000;
const SHUTDOWN_MS = 5000;

/** @returns the exit status: 0 if nothing is wrong */
export async function checkPlugin(binary: string, options: CheckOptions): Promise<number> {
  const report = new Report(options.say);
  await report.step('it is one file that can be executed', async () => {
    if (!(await stat(binary)).isFile()) throw new Error(`${binary} is no file`);
    await access(binary, constants.X_OK);
  });
  if (report.wrong === 0) await drive(binary, options, report);
  options.say(report.wrong === 0 ? 'Nothing is wrong.' : `${report.wrong} wrong.`);
  return report.wrong === 0 ? 0 : 1;
}

async function drive(binary: string, options: CheckOptions, report: Report): Promise<void> {
  const workspace = await mkdtemp(join(tmpdir(), 'plugin-check-'));
  const start = () => new DrivenPlugin(binary, { services: new FakeServices(options), ...IDS, workspace });
  const plugin = start();
  try {
    const manifest = await begin(plugin, options, report);
    if (manifest) {
      await health(plugin, report);
      await tryTools(plugin, manifest, options.inputs, report);
      await tryMessages(plugin, manifest, report);
      if (plugin.alive) await end(plugin, report);
      else report.bad('it ended by itself');
    }
    for (const offence of plugin.offences) report.bad(offence);
    for (const [service, times] of plugin.services.asked)
      report.note(`it asked for ${service}, ${times} times`);
    if (manifest) await orphaned(start(), options, report);
  } finally {
    plugin.kill();
    await rm(workspace, { recursive: true, force: true });
  }
}

function sendInit(plugin: DrivenPlugin, { config }: CheckOptions): void {
  const host_capabilities = plugin.services.capabilities;
  const payload = { ...IDS, config, host_capabilities, protocol_version: PLUGIN_PROTOCOL_VERSION };
  plugin.send({ type: 'init', payload });
}

async function begin(
  plugin: DrivenPlugin,
  options: CheckOptions,
  report: Report,
): Promise<CheckedManifest | undefined> {
  let manifest: CheckedManifest | undefined;
  await report.step('it answers init with ready', async () => {
    const ready = plugin.next('ready', READY_MS);
    const failed = plugin.next('error', READY_MS).then(({ message }) => {
      throw new Error(`it failed: ${message}`);
    });
    failed.catch(() => {});
    sendInit(plugin, options);
    const { manifest: sent, protocol_version } = await Promise.race([ready, failed]);
    if ((protocol_version ?? 1) !== PLUGIN_PROTOCOL_VERSION)
      throw new Error(`it speaks version ${protocol_version}, the host ${PLUGIN_PROTOCOL_VERSION}`);
    manifest = checkManifest(sent);
  });
  if (manifest === undefined) return undefined;
  const { tools, jobs } = manifest;
  await report.step('its schedules are cron of five fields, its input schemas can be compiled', async () => {
    for (const { schedule, name } of jobs) parseCron(schedule, `schedule of ${name}`);
    for (const tool of tools) validatorOf(tool);
  });
  return manifest;
}

async function health(plugin: DrivenPlugin, report: Report): Promise<void> {
  await report.step(`it answers health_check within ${HEALTH_MS / 1000} s`, async () => {
    const answer = plugin.next('health_check', HEALTH_MS);
    plugin.send({ type: 'health_check', payload: {} });
    await answer;
  });
}

async function end(plugin: DrivenPlugin, report: Report): Promise<void> {
  await report.step(`it ends within ${SHUTDOWN_MS / 1000} s of shutdown, with exit status 0`, async () => {
    plugin.send({ type: 'shutdown', payload: {} });
    const { code, signal } = await withinTime(
      plugin.exited,
      SHUTDOWN_MS,
      'it is still there, and would be killed',
    );
    if (code !== 0) throw new Error(`it ended with ${signal ?? `exit status ${code}`}`);
  });
}

/** A host that dies leaves its plugins behind unless they notice. */
async function orphaned(plugin: DrivenPlugin, options: CheckOptions, report: Report): Promise<void> {
  try {
    const ready = plugin.next('ready', READY_MS);
    sendInit(plugin, options);
    await ready;
    plugin.closeInput();
    await withinTime(plugin.exited, SHUTDOWN_MS, '');
    report.ok('it ends when its standard input does');
  } catch {
    report.note('it does not end when its standard input does: it stays behind where the host is killed');
  } finally {
    plugin.kill();
  }
}

async function withinTime<T>(promise: Promise<T>, ms: number, otherwise: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(otherwise));
  }, ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
