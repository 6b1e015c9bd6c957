import { expect, it } from '@jest/globals';
import { sendWebhook } from './send-webhook.ts';

it('a receiver that took a delivery and then broke off its answer has taken it', async () => {
  const broken = new ReadableStream({ start: (body) => body.error(new Error('reset')) });
  const send = async () => Promise.resolve(new Response(broken, { status: 200 }));
  const delivery = { id: 'd', event_type: 'x', body: '{}', secret: null, headers: {}, attempts: 0 };
  const attempt = await sendWebhook(
    send,
    { ...delivery, url: 'https://receiver.example' },
    5,
    AbortSignal.timeout(60_000),
  );
  expect(attempt).toEqual({ response_status: 200, error: null });
});
