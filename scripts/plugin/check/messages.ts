import { randomUUID } from 'node:crypto';
import type { CheckedManifest } from '@acp/contract';
import type { DrivenPlugin } from './driven.ts';
import type { Report } from './report.ts';

const EVENT_MS = 30_000;
const JOB_MS = 60_000;
const HEALTH_MS = 5000;

/** Sends events, jobs, webhooks, and messages that must not crash a plugin. */
export async function tryMessages(
  plugin: DrivenPlugin,
  manifest: CheckedManifest,
  report: Report,
): Promise<void> {
  for (const pattern of manifest.events) await tryEvent(plugin, pattern, report);
  for (const { name, config } of manifest.jobs)
    await report.step(`job ${name} is answered`, async () => {
      const answer = plugin.next('job_result', JOB_MS, ({ job_name }) => job_name === name);
      const scheduled_at = new Date().toISOString();
      plugin.send({ type: 'run_job', payload: { job_name: name, scheduled_at, config: config ?? null } });
      const { error } = await answer;
      if (error) report.note(`job ${name} failed: ${typeof error === 'string' ? error : error.message}`);
    });
  for (const { path } of manifest.webhooks) await tryWebhook(plugin, path, report);
  await report.step(
    'it outlives a message of a type that it does not know, and fields that it does not',
    async () => {
      plugin.send({ type: 'of_a_later_protocol', payload: { any: 'thing' } });
      await stillWell(plugin, { later: true });
    },
  );
  await report.step('it outlives a line that is no JSON', async () => {
    plugin.write('{"type":"health_ch\n');
    await stillWell(plugin);
  });
}

/** Sends an event of a type that the pattern matches, with minimal data. */
async function tryEvent(plugin: DrivenPlugin, pattern: string, report: Report): Promise<void> {
  const event_type = pattern === '*' ? 'issue.created' : pattern.replaceAll('*', 'created');
  const payload = { event_type, event_id: randomUUID(), occurred_at: new Date().toISOString() };
  await report.step(`event ${event_type} is answered, also when it comes again`, async () => {
    for (let time = 0; time < 2; time += 1) {
      const answer = plugin.next('event_handled', EVENT_MS, (handled) => handled.event_type === event_type);
      plugin.send({ type: 'trigger_event', payload: { ...payload, data: { id: payload.event_id } } });
      await answer;
    }
  });
}

async function tryWebhook(plugin: DrivenPlugin, path: string, report: Report): Promise<void> {
  await report.step(`webhook ${path} is outlived: JSON, bytes, nothing`, async () => {
    const bodies = [
      { body: '{"hello":"world"}', body_encoding: 'utf8' as const },
      { body: Buffer.from([0, 255, 254, 10]).toString('base64'), body_encoding: 'base64' as const },
      { body: '', body_encoding: 'utf8' as const },
    ];
    for (const sent of bodies)
      plugin.send({
        type: 'deliver_webhook',
        payload: { path, headers: { 'content-type': 'application/json' }, ...sent },
      });
    await stillWell(plugin);
  });
}

async function stillWell(plugin: DrivenPlugin, payload: object = {}): Promise<void> {
  const answer = plugin.next('health_check', HEALTH_MS);
  plugin.send({ type: 'health_check', payload });
  await answer;
}
