/**
 * Issues and pull requests of GitHub, beside those of the company. Webhooks keep a mirror of them up to date, a job makes
 * up for webhooks that never came, a mention of one of the company's issues (`ABC-12`) is told there, and agents read and
 * comment by tools. What it needs is in README.md.
 */
import { job, on, serve, webhook } from '@acp/plugin-sdk';
import { settingsOf } from './settings.ts';
import { announce } from './announce.ts';
import { receive } from './receive.ts';
import { resync } from './resync.ts';
import { tools } from './tools.ts';

await serve({
  name: 'GitHub',
  start: (context) => {
    settingsOf(context);
  },
  tools,
  webhooks: [webhook('github', receive)],
  events: [on('issue.updated', announce)],
  jobs: [job({ name: 'resync', schedule: '*/30 * * * *', run: resync })],
});
