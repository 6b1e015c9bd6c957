/** my-plugin: one of everything a plugin can have. Keep what you need. See docs/plugins.md for the rest. */
import { job, on, serve, tool, webhook } from '@acp/plugin-sdk';

await serve({
  name: 'my-plugin',

  // Agents call it as `/mcp:my_plugin__greet {"name": "Ada"}`. Errors thrown by `run` are reported to the caller.
  tools: [
    tool({
      namespace: 'my_plugin',
      name: 'greet',
      description: 'Greets somebody by name.',
      input_schema: {
        type: 'object',
        properties: { name: { type: 'string', minLength: 1, maxLength: 100 } },
        required: ['name'],
        additionalProperties: false,
      },
      run: ({ name }, { config }) => ({
        greeting: `${typeof config.greeting === 'string' ? config.greeting : 'Hello'}, ${name}!`,
      }),
    }),
  ],

  events: [
    on('issue.created', ({ data }, { host }) => {
      host.log('info', `${data.identifier} was created: ${data.title}`);
    }),
  ],

  jobs: [
    job({
      name: 'hourly',
      schedule: '0 * * * *',
      run: ({ scheduled_at }) => ({ ran_for: scheduled_at }),
    }),
  ],

  // Anyone with a member's key may send this; the plugin must verify the actual sender.
  webhooks: [
    webhook('my-plugin', async ({ body }, { host }) => {
      host.log('info', `a webhook of ${(await body.bytes()).length} bytes`);
    }),
  ],
});
