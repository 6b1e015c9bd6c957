/**
 * Issues and pull requests of GitHub, next to those of the company. Webhooks keep a mirror of them up to date, a job makes
 * up for missed webhooks, an issue of the company that is mentioned (`ABC-12`) gets a comment, and agents read and comment
 * with tools. README.md lists the requirements.
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
